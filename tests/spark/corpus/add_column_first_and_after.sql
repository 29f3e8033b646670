-- FIRST and AFTER place a column.
CREATE TABLE ${db}.t (id BIGINT, z INT) USING iceberg;
ALTER TABLE ${db}.t ADD COLUMN a STRING AFTER id;
ALTER TABLE ${db}.t ADD COLUMN f STRING FIRST;
DESCRIBE ${db}.t;
--> f | string | null
--> id | bigint | null
--> a | string | null
--> z | int | null
