-- TRUNCATE leaves a table without rows, and its history.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1), (2);
TRUNCATE TABLE ${db}.t;
SELECT count(*) FROM ${db}.t;
--> 0
SELECT operation FROM ${db}.t.snapshots ORDER BY committed_at;
--> append
--> delete
