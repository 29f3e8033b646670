-- New data goes by the new spec, old data stays by the old.
CREATE TABLE ${db}.t (id BIGINT, c STRING) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a');
ALTER TABLE ${db}.t ADD PARTITION FIELD c;
INSERT INTO ${db}.t VALUES (2, 'b');
SELECT spec_id, record_count FROM ${db}.t.files ORDER BY spec_id;
--> 0 | 1
--> 1 | 1
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 2 | b
