-- Transforms in CREATE TABLE, in the singular and the plural.
CREATE TABLE ${db}.t (id BIGINT, s STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (bucket(16, id), truncate(4, s), days(ts));
SELECT spec_id FROM ${db}.t.partitions;
