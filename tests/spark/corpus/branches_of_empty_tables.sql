-- A branch may begin before main has anything: by a write that waits for an audit, or by name.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true');
SET spark.wap.branch = audit;
INSERT INTO ${db}.t VALUES (1), (2);
MERGE INTO ${db}.t t USING (SELECT 3L AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 2
--> 3
RESET spark.wap.branch;
SELECT count(*) FROM ${db}.t;
--> 0
SELECT name, type FROM ${db}.t.refs;
--> audit | BRANCH
SELECT count(*) FROM ${db}.t.snapshots;
--> 2
CALL lake.system.fast_forward('${ns}.t', 'main', 'audit');
SELECT count(*) FROM ${db}.t;
--> 3
SET spark.wap.branch = audit;
TRUNCATE TABLE ${db}.t;
SELECT count(*) FROM ${db}.t;
--> 0
RESET spark.wap.branch;
SELECT count(*) FROM ${db}.t;
--> 3
CREATE TABLE ${db}.merged (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true');
SET spark.wap.branch = audit;
MERGE INTO ${db}.merged t USING (SELECT 3L AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
RESET spark.wap.branch;
SELECT count(*) FROM ${db}.merged;
--> 0
SELECT * FROM ${db}.merged.branch_audit;
--> 3
CREATE TABLE ${db}.named (id BIGINT) USING iceberg;
ALTER TABLE ${db}.named CREATE BRANCH later;
SELECT count(*) FROM ${db}.named.branch_later;
--> 0
INSERT INTO ${db}.named.branch_later VALUES (7);
SELECT * FROM ${db}.named.branch_later;
--> 7
SELECT count(*) FROM ${db}.named;
--> 0
