-- Old files are read under the new types.
CREATE TABLE ${db}.t (a INT, f FLOAT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 0.5);
ALTER TABLE ${db}.t ALTER COLUMN a TYPE BIGINT;
ALTER TABLE ${db}.t ALTER COLUMN f TYPE DOUBLE;
INSERT INTO ${db}.t VALUES (3000000000, 0.25);
SELECT a, f FROM ${db}.t WHERE a >= 1 ORDER BY a;
--> 1 | 0.5
--> 3000000000 | 0.25
