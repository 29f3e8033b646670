-- int to long, float to double, a wider decimal.
CREATE TABLE ${db}.t (a INT, b FLOAT, c DECIMAL(9,2)) USING iceberg;
ALTER TABLE ${db}.t ALTER COLUMN a TYPE BIGINT;
ALTER TABLE ${db}.t ALTER COLUMN b TYPE DOUBLE;
ALTER TABLE ${db}.t ALTER COLUMN c TYPE DECIMAL(18,2);
DESCRIBE ${db}.t;
--> a | bigint | null
--> b | double | null
--> c | decimal(18,2) | null
