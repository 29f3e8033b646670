-- A tag is read only.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
ALTER TABLE ${db}.t CREATE TAG g;
INSERT INTO ${db}.t.tag_g VALUES (2);
--!
DELETE FROM ${db}.t.tag_g WHERE id = 1;
--!
SELECT count(*) FROM ${db}.t;
--> 1
