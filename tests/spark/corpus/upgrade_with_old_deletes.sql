-- From version 1 over 2 to 3, with position deletes that become part of deletion vectors.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg TBLPROPERTIES ('format-version' = '1', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ id, CAST(id AS STRING) FROM range(6);
ALTER TABLE ${db}.t SET TBLPROPERTIES ('format-version' = '2');
DELETE FROM ${db}.t WHERE id = 1;
ALTER TABLE ${db}.t SET TBLPROPERTIES ('format-version' = '3');
DELETE FROM ${db}.t WHERE id = 4;
INSERT INTO ${db}.t VALUES (9, 'nine');
SELECT id FROM ${db}.t ORDER BY id;
--> 0
--> 2
--> 3
--> 5
--> 9
