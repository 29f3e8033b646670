-- Where a row lies, on demand.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, 'a'), (2L, 'a'), (3L, 'b');
SELECT id, _spec_id, _partition.p, _pos FROM ${db}.t ORDER BY id;
--> 1 | 0 | a | 0
--> 2 | 0 | a | 1
--> 3 | 0 | b | 0
SELECT count(DISTINCT _file) FROM ${db}.t WHERE p = 'a';
--> 1
SELECT * FROM ${db}.t WHERE id = 3;
--> 3 | b
