-- A reference's name is taken once, unless it is replaced.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE BRANCH b;
ALTER TABLE ${db}.t CREATE BRANCH IF NOT EXISTS b;
ALTER TABLE ${db}.t CREATE OR REPLACE BRANCH b;
ALTER TABLE ${db}.t CREATE BRANCH b;
--! 
