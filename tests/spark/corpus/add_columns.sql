-- Columns are added at the end, and several at once.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
ALTER TABLE ${db}.t ADD COLUMN a STRING;
ALTER TABLE ${db}.t ADD COLUMNS (b INT COMMENT 'second', c DOUBLE);
DESCRIBE ${db}.t;
--> id | bigint | null
--> a | string | null
--> b | int | second
--> c | double | null
