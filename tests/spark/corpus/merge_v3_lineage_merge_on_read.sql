-- A row keeps its id through UPDATE and MERGE, and is as old as its last change (merge-on-read).
CREATE TABLE ${db}.t (id BIGINT, s STRING) USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, 'a'), (2L, 'b'), (3L, 'c');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (4L, 'd'), (5L, 'e');
SELECT id, _row_id, _last_updated_sequence_number FROM ${db}.t ORDER BY id;
--> 1 | 0 | 1
--> 2 | 1 | 1
--> 3 | 2 | 1
--> 4 | 3 | 2
--> 5 | 4 | 2
UPDATE ${db}.t SET s = 'new' WHERE id = 2;
DELETE FROM ${db}.t WHERE id = 1;
MERGE INTO ${db}.t t USING (SELECT 5L AS id, 'five' AS s) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s;
SELECT id, s, _row_id, _last_updated_sequence_number FROM ${db}.t ORDER BY id;
--> 2 | new | 1 | 3
--> 3 | c | 2 | 1
--> 4 | d | 3 | 2
--> 5 | five | 4 | 5
