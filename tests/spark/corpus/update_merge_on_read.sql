-- The old row is deleted by its position, the new one appended, also into another partition.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('write.update.mode' = 'merge-on-read');
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'a'), (3, 'b');
UPDATE ${db}.t SET p = 'c' WHERE id = 2;
UPDATE ${db}.t SET id = id * 10 WHERE p <> 'a';
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 20 | c
--> 30 | b
SELECT partition.p, record_count, position_delete_record_count FROM ${db}.t.partitions ORDER BY 1;
--> a | 2 | 1
--> b | 2 | 1
--> c | 2 | 1
