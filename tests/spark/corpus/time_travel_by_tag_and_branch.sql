-- VERSION AS OF takes a tag or a branch, FOR VERSION too; in joins and subqueries.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
ALTER TABLE ${db}.t CREATE TAG before;
UPDATE ${db}.t SET v = 'B' WHERE id = 2;
DELETE FROM ${db}.t WHERE id = 1;
INSERT INTO ${db}.t VALUES (3, 'c');
SELECT old.id, old.v, new.v FROM ${db}.t VERSION AS OF 'before' old LEFT JOIN ${db}.t new ON old.id = new.id ORDER BY 1;
--> 1 | a | null
--> 2 | b | B
SELECT id FROM ${db}.t FOR VERSION AS OF 'main' ORDER BY id;
--> 2
--> 3
SELECT id FROM ${db}.t WHERE id NOT IN (SELECT id FROM ${db}.t FOR SYSTEM_VERSION AS OF 'before');
--> 3
SELECT count(*) FROM ${db}.t TIMESTAMP AS OF '2999-01-01';
--> 2
SELECT count(*) FROM ${db}.t TIMESTAMP AS OF '1999-01-01';
--!
SELECT count(*) FROM ${db}.t VERSION AS OF 'nothing';
--!
