-- Names, aliases and full names in one query.
CREATE TABLE ${db}.a (id BIGINT, x STRING) USING iceberg;
CREATE TABLE ${db}.b (id BIGINT, y STRING) USING iceberg;
INSERT INTO ${db}.a VALUES (1, 'p'), (2, 'q');
INSERT INTO ${db}.b VALUES (2, 'r'), (3, 's');
SELECT l.x, r.y FROM ${db}.a l JOIN ${db}.b AS r ON l.id = r.id WHERE l.id > 1;
--> q | r
SELECT a.id, b.y FROM ${db}.a LEFT JOIN ${db}.b ON a.id = b.id ORDER BY 1;
--> 1 | null
--> 2 | r
SELECT x FROM ${db}.a WHERE id IN (SELECT id FROM ${db}.b) AND EXISTS (SELECT 1 FROM ${db}.b);
--> q
