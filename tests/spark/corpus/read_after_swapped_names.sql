-- Two columns that swapped their names.
CREATE TABLE ${db}.t (a INT, b INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 2);
ALTER TABLE ${db}.t RENAME COLUMN a TO x;
ALTER TABLE ${db}.t RENAME COLUMN b TO a;
ALTER TABLE ${db}.t RENAME COLUMN x TO b;
SELECT a, b FROM ${db}.t WHERE a = 2 AND b = 1;
--> 2 | 1
