-- Rows for which a condition is true go; those for which it is null stay.
CREATE TABLE ${db}.t (id BIGINT, v INT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t VALUES (1, 10, 'a'), (2, NULL, 'a'), (3, 30, 'b'), (4, 40, NULL);
DELETE FROM ${db}.t WHERE v > 20 AND p = 'b';
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | 10 | a
--> 2 | null | a
--> 4 | 40 | null
DELETE FROM ${db}.t WHERE NOT (v > 20);
SELECT * FROM ${db}.t ORDER BY id;
--> 2 | null | a
--> 4 | 40 | null
DELETE FROM ${db}.t AS x WHERE x.p IS NULL;
SELECT id FROM ${db}.t;
--> 2
DELETE FROM ${db}.t;
SELECT count(*) FROM ${db}.t;
--> 0
