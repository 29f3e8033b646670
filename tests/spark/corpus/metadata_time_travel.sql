-- Metadata tables at a tag.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE TAG one;
INSERT INTO ${db}.t VALUES (2);
SELECT count(*) FROM ${db}.t.files;
--> 2
SELECT count(*) FROM ${db}.t.files VERSION AS OF 'one';
--> 1
