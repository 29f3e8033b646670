-- A hadoop catalog cannot rename tables.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
ALTER TABLE ${db}.t RENAME TO ${db}.u;
--! 
