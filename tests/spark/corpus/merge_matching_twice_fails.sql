-- Which source row would win is chance: refused, and nothing is changed.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a');
MERGE INTO ${db}.t t USING (SELECT * FROM VALUES (1L, 'x'), (1L, 'y') AS v(id, v)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
--!
SELECT * FROM ${db}.t;
--> 1 | a
