-- A table that is there stays as it is.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
CREATE TABLE IF NOT EXISTS ${db}.t (other STRING) USING iceberg;
DESCRIBE ${db}.t;
--> id | bigint | null
