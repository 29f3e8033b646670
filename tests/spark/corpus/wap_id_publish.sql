-- A write under an id is staged until it is published.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true');
INSERT INTO ${db}.t VALUES (1);
SET spark.wap.id = job1;
INSERT INTO ${db}.t VALUES (2);
RESET spark.wap.id;
SELECT id FROM ${db}.t;
--> 1
SELECT summary['wap.id'], count(*) FROM ${db}.t.snapshots GROUP BY 1 ORDER BY 1;
--> null | 1
--> job1 | 1
CALL lake.system.publish_changes('${ns}.t', 'job1');
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 2
