-- Deletes that lie beside the data are changes too.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, 'a'), (2L, 'b');
DELETE FROM ${db}.t WHERE id = 1;
SELECT id, v, _change_type, _change_ordinal FROM ${db}.t.changes ORDER BY _change_ordinal, id;
--> 1 | a | INSERT | 0
--> 2 | b | INSERT | 0
--> 1 | a | DELETE | 1
--java: it has no changelog over merge-on-read snapshots
