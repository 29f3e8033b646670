-- An identifier field must be required.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
ALTER TABLE ${db}.t SET IDENTIFIER FIELDS id;
--! 
