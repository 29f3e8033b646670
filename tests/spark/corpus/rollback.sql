-- A bad write is rolled back by its parent.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE TAG good;
INSERT INTO ${db}.t VALUES (2);
CALL lake.system.set_current_snapshot(table => '${ns}.t', ref => 'good');
SELECT * FROM ${db}.t;
--> 1
SELECT count(*) FROM ${db}.t.snapshots;
--> 2
