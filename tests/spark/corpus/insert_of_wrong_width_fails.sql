-- Too few columns are refused before anything is written.
CREATE TABLE ${db}.t (id BIGINT, data STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
--! 
