-- Renamed, widened and added columns, and a spec that changed, under MERGE and UPDATE.
CREATE TABLE ${db}.t (id INT, old STRING, gone INT) USING iceberg TBLPROPERTIES ('write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'copy-on-write');
INSERT INTO ${db}.t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0);
ALTER TABLE ${db}.t RENAME COLUMN old TO name;
ALTER TABLE ${db}.t ALTER COLUMN id TYPE BIGINT;
ALTER TABLE ${db}.t DROP COLUMN gone;
ALTER TABLE ${db}.t ADD COLUMN n INT;
ALTER TABLE ${db}.t ADD PARTITION FIELD truncate(1, name);
INSERT INTO ${db}.t VALUES (3000000000, 'big', 9);
MERGE INTO ${db}.t t USING (SELECT * FROM VALUES (2L, 'bb', 5), (3000000000L, 'bigger', 6), (7L, 'g', 7) AS v(id, name, n)) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;
UPDATE ${db}.t SET n = -1 WHERE n IS NULL AND name < 'b';
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a | -1
--> 2 | bb | 5
--> 3 | c | null
--> 7 | g | 7
--> 3000000000 | bigger | 6
