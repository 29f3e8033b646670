-- BY NAME, and a list of columns; what is left out is null.
CREATE TABLE ${db}.t (id BIGINT, data STRING, n INT) USING iceberg;
INSERT INTO ${db}.t BY NAME SELECT 'x' AS data, 1 AS n, 10L AS id;
INSERT INTO ${db}.t (n, id) VALUES (2, 20);
SELECT * FROM ${db}.t ORDER BY id;
--> 10 | x | 1
--> 20 | null | 2
