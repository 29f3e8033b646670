-- A type never gets narrower.
CREATE TABLE ${db}.t (a BIGINT) USING iceberg;
ALTER TABLE ${db}.t ALTER COLUMN a TYPE INT;
--! 
