-- A condition that asks another table.
CREATE TABLE ${db}.t (id BIGINT, v STRING) USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.update.mode' = 'merge-on-read');
CREATE TABLE ${db}.s (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO ${db}.s VALUES (2), (3), (9);
UPDATE ${db}.t SET v = upper(v) WHERE id IN (SELECT id FROM ${db}.s);
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 2 | B
--> 3 | C
