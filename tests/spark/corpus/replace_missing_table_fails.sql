-- REPLACE needs a table to replace.
REPLACE TABLE ${db}.t USING iceberg AS SELECT 1L AS id;
--! 
