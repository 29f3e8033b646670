-- A required column becomes optional; rows without it fit then.
CREATE TABLE ${db}.t (id BIGINT NOT NULL, s STRING) USING iceberg;
ALTER TABLE ${db}.t ALTER COLUMN id DROP NOT NULL;
INSERT INTO ${db}.t VALUES (NULL, 'a');
SELECT * FROM ${db}.t;
--> null | a
