-- UPDATE with expressions over the old values; a null condition changes nothing.
CREATE TABLE ${db}.t (id BIGINT, v INT, s STRING) USING iceberg TBLPROPERTIES ('write.update.mode' = 'copy-on-write');
INSERT INTO ${db}.t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c');
UPDATE ${db}.t SET v = v + 1, s = concat(s, CAST(v AS STRING)) WHERE v >= 20;
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | 10 | a
--> 2 | 21 | b20
--> 3 | null | c
UPDATE ${db}.t SET s = 'all';
SELECT DISTINCT s FROM ${db}.t;
--> all
SELECT operation FROM ${db}.t.snapshots ORDER BY committed_at;
--> append
--> overwrite
--> overwrite
