-- A filter on a timestamp finds its days.
CREATE TABLE ${db}.t (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts));
INSERT INTO ${db}.t VALUES (1, TIMESTAMP '2024-01-01 23:59:59'), (2, TIMESTAMP '2024-01-02 00:00:00'), (3, TIMESTAMP '1969-12-31 23:00:00');
SELECT id FROM ${db}.t WHERE ts >= TIMESTAMP '2024-01-02 00:00:00';
--> 2
SELECT id FROM ${db}.t WHERE ts < TIMESTAMP '1970-01-01 00:00:00';
--> 3
SELECT count(*) FROM ${db}.t.partitions;
--> 3
