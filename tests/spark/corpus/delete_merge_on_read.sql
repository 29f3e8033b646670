-- Deletes of positions lie beside the data in version 2.
CREATE TABLE ${db}.t (id BIGINT, v INT) USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ id, CAST(id * 2 AS INT) FROM range(10);
DELETE FROM ${db}.t WHERE id IN (2, 3, 5);
DELETE FROM ${db}.t WHERE v = 14;
SELECT count(*), sum(id), min(id), max(id) FROM ${db}.t;
--> 6 | 28 | 0 | 9
SELECT id FROM ${db}.t WHERE id BETWEEN 2 AND 6 ORDER BY id;
--> 4
--> 6
SELECT content, sum(record_count) FROM ${db}.t.files GROUP BY content ORDER BY content;
--> 0 | 10
--> 1 | 4
SELECT pos FROM ${db}.t.position_deletes ORDER BY pos;
--> 2
--> 3
--> 5
--> 7
SELECT operation, summary['total-position-deletes'] FROM ${db}.t.snapshots ORDER BY committed_at;
--> append | 0
--> delete | 3
--> delete | 4
