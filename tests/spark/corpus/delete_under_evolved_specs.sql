-- Deletes reach files of every spec that the table had.
CREATE TABLE ${db}.t (id BIGINT, c STRING) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
ALTER TABLE ${db}.t ADD PARTITION FIELD c;
INSERT INTO ${db}.t VALUES (3, 'a'), (4, 'b');
ALTER TABLE ${db}.t REPLACE PARTITION FIELD c WITH bucket(4, id);
INSERT INTO ${db}.t VALUES (5, 'a'), (6, 'b');
DELETE FROM ${db}.t WHERE c = 'a' AND id <> 3;
SELECT * FROM ${db}.t ORDER BY id;
--> 2 | b
--> 3 | a
--> 4 | b
--> 6 | b
