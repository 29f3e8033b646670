-- A namespace goes only when it is empty.
CREATE NAMESPACE ${db}.full;
CREATE TABLE ${db}.full.t (id BIGINT) USING iceberg;
DROP NAMESPACE ${db}.full;
--! 
