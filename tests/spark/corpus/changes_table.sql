-- What changed, snapshot by snapshot, of a table that is changed by copies.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg PARTITIONED BY (id) TBLPROPERTIES ('write.delete.mode' = 'copy-on-write');
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
INSERT INTO ${db}.t VALUES (3, 'c');
DELETE FROM ${db}.t WHERE id = 1;
SELECT id, v, _change_type, _change_ordinal FROM ${db}.t.changes ORDER BY _change_ordinal, id;
--> 1 | a | INSERT | 0
--> 2 | b | INSERT | 0
--> 3 | c | INSERT | 1
--> 1 | a | DELETE | 2
SELECT count(DISTINCT _commit_snapshot_id) FROM ${db}.t.changes;
--> 3
--java: with this column alone it fails on a cast
