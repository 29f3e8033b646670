-- Manifests tell what their partitions span.
CREATE TABLE ${db}.t (id BIGINT, p STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (p, days(ts));
INSERT INTO ${db}.t VALUES (1, 'a', TIMESTAMP '2024-01-01 00:00:00'), (2, NULL, TIMESTAMP '2024-02-01 00:00:00');
SELECT partition_summaries FROM ${db}.t.manifests;
--> [[true, false, a, a], [false, false, 2024-01-01, 2024-02-01]]
SELECT partition.p, partition.ts_day, spec_id, record_count FROM ${db}.t.partitions ORDER BY 1;
--> null | 2024-02-01 | 0 | 1
--> a | 2024-01-01 | 0 | 1
