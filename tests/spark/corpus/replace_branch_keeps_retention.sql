CREATE TABLE ${db}.t (id INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE BRANCH b RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS;
ALTER TABLE ${db}.t REPLACE BRANCH b RETAIN 5 DAYS;
SELECT max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms FROM ${db}.t.refs WHERE name = 'b';
--> 432000000 | 3 | 172800000
ALTER TABLE ${db}.t CREATE OR REPLACE BRANCH b WITH SNAPSHOT RETENTION 9 SNAPSHOTS;
SELECT max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms FROM ${db}.t.refs WHERE name = 'b';
--> 432000000 | 9 | 172800000
