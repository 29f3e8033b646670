-- A condition on a partition takes whole files: no data file is written.
CREATE TABLE ${db}.t (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts));
INSERT INTO ${db}.t VALUES (1, TIMESTAMP '2024-01-01 10:00:00'), (2, TIMESTAMP '2024-01-02 10:00:00'), (3, TIMESTAMP '2024-01-02 11:00:00');
DELETE FROM ${db}.t WHERE ts >= TIMESTAMP '2024-01-02 00:00:00' AND ts < TIMESTAMP '2024-01-03 00:00:00';
SELECT id FROM ${db}.t;
--> 1
SELECT operation, summary['deleted-records'], summary['added-data-files'] FROM ${db}.t.snapshots WHERE operation <> 'append';
--> delete | 2 | null
