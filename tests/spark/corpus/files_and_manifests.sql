-- What the metadata tables say of two files.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
SELECT content, file_format, record_count, partition.p FROM ${db}.t.files ORDER BY 4;
--> 0 | PARQUET | 1 | a
--> 0 | PARQUET | 1 | b
SELECT added_data_files_count, existing_data_files_count FROM ${db}.t.manifests;
--> 2 | 0
SELECT partition.p, record_count, file_count FROM ${db}.t.partitions ORDER BY 1;
--> a | 1 | 1
--> b | 1 | 1
