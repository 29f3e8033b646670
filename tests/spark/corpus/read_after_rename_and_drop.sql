-- Columns are known by their ids: a dropped name that comes back is another column.
CREATE TABLE ${db}.t (id BIGINT, a INT, b INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 10, 20);
ALTER TABLE ${db}.t DROP COLUMN a;
ALTER TABLE ${db}.t RENAME COLUMN b TO a;
ALTER TABLE ${db}.t ADD COLUMN b INT;
SELECT id, a, b FROM ${db}.t WHERE a = 20;
--> 1 | 20 | null
SELECT count(*) FROM ${db}.t WHERE b IS NULL;
--> 1
