-- A MERGE with null keys, a condition on the partition and a row that moves to another one.
CREATE TABLE ${db}.t (id BIGINT, p STRING, v INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('write.merge.mode' = 'merge-on-read');
INSERT INTO ${db}.t VALUES (1, 'a', 1), (2, 'a', 2), (NULL, 'a', 3), (1, 'b', 4);
MERGE INTO ${db}.t t USING (SELECT * FROM VALUES (1L, 10), (2L, 20), (NULL, 30) AS v(id, v)) s ON t.id = s.id AND t.p = 'a'
WHEN MATCHED AND s.v = 20 THEN UPDATE SET p = 'c', v = s.v
WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, 'n', s.v);
SELECT * FROM ${db}.t ORDER BY v;
--> null | a | 3
--> 1 | b | 4
--> 1 | a | 10
--> 2 | c | 20
--> null | n | 30
