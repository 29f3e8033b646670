-- A PARTITION clause with a value replaces that partition.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE ${db}.t PARTITION (p = 'a') SELECT 9L;
SELECT * FROM ${db}.t ORDER BY id;
--> 2 | b
--> 9 | a
