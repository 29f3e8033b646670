-- A branch is read with the table's schema, a tag with its own.
CREATE TABLE ${db}.t (id BIGINT, old STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a');
ALTER TABLE ${db}.t CREATE BRANCH b;
ALTER TABLE ${db}.t CREATE TAG g;
ALTER TABLE ${db}.t RENAME COLUMN old TO new;
ALTER TABLE ${db}.t ADD COLUMN n INT;
SELECT id, new, n FROM ${db}.t.branch_b;
--> 1 | a | null
SELECT id, old FROM ${db}.t.tag_g;
--> 1 | a
