-- A comment and a place for a column that is there.
CREATE TABLE ${db}.t (a INT, b INT, c INT) USING iceberg;
ALTER TABLE ${db}.t ALTER COLUMN c COMMENT 'third';
ALTER TABLE ${db}.t ALTER COLUMN c FIRST;
ALTER TABLE ${db}.t ALTER COLUMN a AFTER b;
DESCRIBE ${db}.t;
--> c | int | third
--> b | int | null
--> a | int | null
