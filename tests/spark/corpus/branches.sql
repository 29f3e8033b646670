-- A branch has rows of its own until main is moved forward.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE BRANCH audit;
INSERT INTO ${db}.t.branch_audit VALUES (2);
SELECT count(*) FROM ${db}.t;
--> 1
SELECT count(*) FROM ${db}.t VERSION AS OF 'audit';
--> 2
CALL lake.system.fast_forward('${ns}.t', 'main', 'audit');
SELECT count(*) FROM ${db}.t;
--> 2
ALTER TABLE ${db}.t DROP BRANCH audit;
SELECT name, type FROM ${db}.t.refs;
--> main | BRANCH
