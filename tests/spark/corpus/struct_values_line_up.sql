-- INSERT takes the fields of structs by position, UPDATE, MERGE and BY NAME by name.
CREATE TABLE ${db}.t (id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<a: INT, b: BIGINT>>, m MAP<STRING, STRUCT<p: INT, q: STRING>>) USING iceberg;
INSERT INTO ${db}.t VALUES (1, struct(1, 'a'), array(struct(1, 2)), map('k', struct(1, 'q')));
INSERT INTO ${db}.t SELECT 2, named_struct('b', 5, 'a', 'x'), NULL, NULL;
INSERT INTO ${db}.t BY NAME SELECT named_struct('b', 'n', 'a', 6) AS s, 3 AS id;
INSERT INTO ${db}.t SELECT 4, named_struct('b', 'x', 'a', 5), NULL, NULL;
--!
INSERT INTO ${db}.t BY NAME SELECT named_struct('b', 'x') AS s, 4 AS id;
--!
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | [1, a] | [[1, 2]] | {k: [1, q]}
--> 2 | [5, x] | null | null
--> 3 | [6, n] | null | null
UPDATE ${db}.t SET s = named_struct('b', 'u', 'a', 9L), l = array(named_struct('b', 30, 'a', 10)) WHERE id = 1;
UPDATE ${db}.t SET s = struct(1, 'u') WHERE id = 1;
--!
MERGE INTO ${db}.t t USING (SELECT 2 AS id, map('z', named_struct('q', 'qq', 'p', 7)) AS m) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET m = s.m, s.b = 'merged';
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | [9, u] | [[10, 30]] | {k: [1, q]}
--> 2 | [5, merged] | null | {z: [7, qq]}
--> 3 | [6, n] | null | null
CREATE TABLE ${db}.p (s STRUCT<a: INT>, p INT, q STRING) USING iceberg PARTITIONED BY (p, q);
INSERT INTO ${db}.p PARTITION (p = '2', q = 5) SELECT struct(1 AS z);
SELECT * FROM ${db}.p;
--> [1] | 2 | 5
