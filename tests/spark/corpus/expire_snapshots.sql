-- Expiry keeps the newest snapshot, and all rows.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
INSERT OVERWRITE ${db}.t VALUES (2);
CALL lake.system.expire_snapshots(table => '${ns}.t', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1);
--> 1 | 0 | 0 | 1 | 1 | 0
SELECT count(*) FROM ${db}.t.snapshots;
--> 1
SELECT * FROM ${db}.t;
--> 2
