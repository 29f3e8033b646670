-- Each write is a snapshot.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
INSERT INTO ${db}.t VALUES (2);
SELECT is_current_ancestor FROM ${db}.t.history;
--> true
--> true
SELECT operation, summary['added-records'] FROM ${db}.t.snapshots;
--> append | 1
--> append | 1
