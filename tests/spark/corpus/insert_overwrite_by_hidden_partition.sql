-- Dynamic overwrite goes by the hidden partitions that have new rows.
CREATE TABLE ${db}.t (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts));
INSERT INTO ${db}.t VALUES (1, TIMESTAMP '2024-01-01 01:00:00'), (2, TIMESTAMP '2024-01-02 01:00:00'), (3, TIMESTAMP '2024-01-02 02:00:00');
SET spark.sql.sources.partitionOverwriteMode = dynamic;
INSERT OVERWRITE ${db}.t VALUES (9, TIMESTAMP '2024-01-02 23:59:59');
SET spark.sql.sources.partitionOverwriteMode = static;
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 9
