-- In version 3 a file has one deletion vector, which takes in the older one.
CREATE TABLE ${db}.t (id BIGINT, v INT) USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ id, CAST(id * 2 AS INT) FROM range(10);
DELETE FROM ${db}.t WHERE id IN (2, 3, 5);
DELETE FROM ${db}.t WHERE v = 14;
SELECT id FROM ${db}.t WHERE id BETWEEN 2 AND 8 ORDER BY id;
--> 4
--> 6
--> 8
SELECT file_format, record_count FROM ${db}.t.delete_files;
--> PUFFIN | 4
SELECT pos FROM ${db}.t.position_deletes ORDER BY pos;
--> 2
--> 3
--> 5
--> 7
