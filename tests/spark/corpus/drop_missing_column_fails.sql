-- What is not there cannot be dropped.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
ALTER TABLE ${db}.t DROP COLUMN nope;
--! 
