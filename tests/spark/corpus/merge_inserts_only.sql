-- A MERGE that only inserts appends.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
MERGE INTO ${db}.t USING (SELECT * FROM VALUES (2L, 'x'), (3L, 'y'), (NULL, 'z') AS v(id, v)) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM ${db}.t ORDER BY id;
--> null | z
--> 1 | a
--> 2 | b
--> 3 | y
