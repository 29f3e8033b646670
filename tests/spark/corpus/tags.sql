-- A tag keeps its snapshot and that one's schema.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE TAG first RETAIN 30 DAYS;
ALTER TABLE ${db}.t ADD COLUMN s STRING;
INSERT INTO ${db}.t VALUES (2, 'b');
SELECT * FROM ${db}.t VERSION AS OF 'first';
--> 1
SELECT * FROM ${db}.t.tag_first;
--> 1
SELECT name, max_reference_age_in_ms FROM ${db}.t.refs WHERE type = 'TAG';
--> first | 2592000000
