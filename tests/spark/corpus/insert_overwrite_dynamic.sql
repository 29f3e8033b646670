-- In dynamic mode only the partitions that have new rows are replaced.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
SET spark.sql.sources.partitionOverwriteMode = dynamic;
INSERT OVERWRITE ${db}.t VALUES (3, 'a');
SET spark.sql.sources.partitionOverwriteMode = static;
SELECT * FROM ${db}.t ORDER BY id;
--> 2 | b
--> 3 | a
