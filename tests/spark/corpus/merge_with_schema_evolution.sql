-- New columns of the source come into the table.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
MERGE WITH SCHEMA EVOLUTION INTO ${db}.t t USING (SELECT 2L AS id, 'new' AS v, 7 AS extra UNION ALL SELECT 3L, 'c', 8) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;
SELECT id, v, extra FROM ${db}.t ORDER BY id;
--> 1 | a | null
--> 2 | new | 7
--> 3 | c | 8
