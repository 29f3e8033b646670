-- INSERT OVERWRITE replaces the whole table.
CREATE TABLE ${db}.t (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p);
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE ${db}.t VALUES (3, 'a');
SELECT * FROM ${db}.t;
--> 3 | a
