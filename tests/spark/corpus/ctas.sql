-- CREATE TABLE AS SELECT, partitioned.
CREATE TABLE ${db}.s (id BIGINT, p STRING) USING iceberg;
INSERT INTO ${db}.s VALUES (1, 'a'), (2, 'b');
CREATE TABLE ${db}.t USING iceberg PARTITIONED BY (p) AS SELECT * FROM ${db}.s;
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 2 | b
SELECT count(*) FROM ${db}.t.partitions;
--> 2
