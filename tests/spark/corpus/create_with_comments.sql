-- Comments of columns are kept.
CREATE TABLE ${db}.t (id BIGINT COMMENT 'unique id', data STRING COMMENT 'it''s data') USING iceberg;
DESCRIBE ${db}.t;
--> id | bigint | unique id
--> data | string | it's data
