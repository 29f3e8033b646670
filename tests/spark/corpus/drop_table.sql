-- What is dropped is gone, and IF EXISTS does not mind.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
DROP TABLE ${db}.t;
DROP TABLE IF EXISTS ${db}.t;
SHOW TABLES IN ${db};
DROP TABLE ${db}.t;
--! 
