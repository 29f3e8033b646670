-- IN, NOT IN, EXISTS and a scalar subquery in the condition of a DELETE.
CREATE TABLE ${db}.t (id BIGINT, v INT) USING iceberg;
CREATE TABLE ${db}.s (id BIGINT, w INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
INSERT INTO ${db}.s VALUES (2, 20), (4, 40);
DELETE FROM ${db}.t WHERE id IN (SELECT id FROM ${db}.s WHERE w > 30);
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 2
--> 3
--> 5
DELETE FROM ${db}.t WHERE EXISTS (SELECT 1 FROM ${db}.s WHERE s.id = t.id);
DELETE FROM ${db}.t WHERE v = (SELECT max(v) FROM ${db}.t);
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 3
DELETE FROM ${db}.t WHERE id NOT IN (SELECT id - 1 FROM ${db}.s);
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 3
