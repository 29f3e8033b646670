-- entries, all_* and the logs of a table with one row-level change.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'copy-on-write');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ id FROM range(3);
DELETE FROM ${db}.t WHERE id = 1;
SELECT status, sequence_number, data_file.record_count FROM ${db}.t.entries ORDER BY status;
--> 1 | 2 | 2
--> 2 | 1 | 3
SELECT record_count FROM ${db}.t.all_data_files ORDER BY record_count;
--> 2
--> 3
SELECT latest_schema_id, latest_sequence_number FROM ${db}.t.metadata_log_entries ORDER BY latest_sequence_number NULLS FIRST;
--> null | null
--> 0 | 1
--> 0 | 2
SELECT operation, summary['total-records'], summary['total-data-files'] FROM ${db}.t.snapshots ORDER BY committed_at;
--> append | 3 | 1
--> overwrite | 2 | 1
SELECT count(*) FROM ${db}.t.all_manifests;
--> 3
