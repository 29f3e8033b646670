-- The source may read the target, which is read as it was before.
CREATE TABLE ${db}.t (id BIGINT, v INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 1), (2, 2);
MERGE INTO ${db}.t t USING (SELECT id + 1 AS id, v * 10 AS v FROM ${db}.t) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | 1
--> 2 | 10
--> 3 | 20
