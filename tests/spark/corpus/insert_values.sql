-- Rows in, rows out.
CREATE TABLE ${db}.t (id BIGINT, data STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b'), (3, NULL);
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 2 | b
--> 3 | null
SELECT count(*), count(data) FROM ${db}.t;
--> 3 | 2
