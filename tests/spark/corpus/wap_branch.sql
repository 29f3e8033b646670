-- With a branch to write to, writes wait for an audit; reads of the session see them.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true');
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE BRANCH audit;
SET spark.wap.branch = audit;
INSERT INTO ${db}.t VALUES (2);
DELETE FROM ${db}.t WHERE id = 1;
SELECT id FROM ${db}.t;
--> 2
RESET spark.wap.branch;
SELECT id FROM ${db}.t;
--> 1
SELECT id FROM ${db}.t.branch_audit;
--> 2
CALL lake.system.fast_forward('${ns}.t', 'main', 'audit');
SELECT id FROM ${db}.t;
--> 2
