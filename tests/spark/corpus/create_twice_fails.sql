-- A name is taken once.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
--! 
