-- All clauses of MERGE, in their order (copy-on-write).
CREATE TABLE ${db}.t (id BIGINT, v INT, s STRING) USING iceberg TBLPROPERTIES ('write.merge.mode' = 'copy-on-write');
CREATE TABLE ${db}.u (id BIGINT, v INT, s STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, NULL, 'e');
INSERT INTO ${db}.u VALUES (2, 200, 'two'), (3, NULL, 'three'), (6, 600, 'six'), (7, NULL, 'seven');
MERGE INTO ${db}.t AS t USING ${db}.u AS u ON t.id = u.id
WHEN MATCHED AND u.v IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET v = t.v + u.v, s = u.s
WHEN NOT MATCHED AND u.v IS NOT NULL THEN INSERT *
WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id * 10, upper(u.s))
WHEN NOT MATCHED BY SOURCE AND t.v = 40 THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = concat(t.s, '!');
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | 10 | a!
--> 2 | 220 | two
--> 5 | null | e!
--> 6 | 600 | six
--> 70 | null | SEVEN
