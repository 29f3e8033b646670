-- UPDATE, DELETE, MERGE and INSERT OVERWRITE on a branch leave main as it is.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b'), (3, 'c');
ALTER TABLE ${db}.t CREATE BRANCH dev;
DELETE FROM ${db}.t.branch_dev WHERE id = 1;
UPDATE ${db}.t.branch_dev SET v = 'B' WHERE id = 2;
MERGE INTO ${db}.t.branch_dev t USING (SELECT 9L AS id, 'n' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM ${db}.t.branch_dev ORDER BY id;
--> 2 | B
--> 3 | c
--> 9 | n
INSERT OVERWRITE ${db}.t.branch_dev VALUES (7, 'g');
SELECT * FROM ${db}.t VERSION AS OF 'dev';
--> 7 | g
SELECT id FROM ${db}.t ORDER BY id;
--> 1
--> 2
--> 3
