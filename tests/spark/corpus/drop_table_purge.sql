-- PURGE takes the files too; the name is free again.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
DROP TABLE ${db}.t PURGE;
CREATE TABLE ${db}.t (other STRING) USING iceberg;
SELECT count(*) FROM ${db}.t;
--> 0
