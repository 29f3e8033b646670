-- A text that is no number is refused.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t SELECT array(1);
--! 
