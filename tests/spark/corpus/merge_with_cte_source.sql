-- A source with joins and a common table expression.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
CREATE TABLE ${db}.a (id BIGINT, x STRING) USING iceberg;
CREATE TABLE ${db}.b (id BIGINT, y STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'old'), (2, 'old');
INSERT INTO ${db}.a VALUES (2, 'p'), (3, 'q');
INSERT INTO ${db}.b VALUES (2, 'r'), (3, 's'), (4, 't');
MERGE INTO ${db}.t USING (WITH j AS (SELECT a.id, x || y AS v FROM ${db}.a JOIN ${db}.b ON a.id = b.id) SELECT * FROM j) AS n ON t.id = n.id
WHEN MATCHED THEN UPDATE SET t.v = n.v
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (n.id, n.v);
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | old
--> 2 | pr
--> 3 | qs
