-- INSERT … SELECT from another table, with a filter.
CREATE TABLE ${db}.s (id BIGINT, data STRING) USING iceberg;
CREATE TABLE ${db}.t (id BIGINT, data STRING) USING iceberg;
INSERT INTO ${db}.s VALUES (1, 'a'), (2, 'b');
INSERT INTO ${db}.t SELECT id + 10, upper(data) FROM ${db}.s WHERE id > 1;
SELECT * FROM ${db}.t;
--> 12 | B
