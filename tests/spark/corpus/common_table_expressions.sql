-- A WITH name hides a table; a subquery and a union read it.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1), (2), (3);
WITH t AS (SELECT id * 10 AS id FROM ${db}.t WHERE id < 3) SELECT * FROM t UNION ALL SELECT max(id) FROM ${db}.t ORDER BY 1;
--> 3
--> 10
--> 20
