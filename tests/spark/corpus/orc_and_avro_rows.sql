-- Tables whose files are ORC or Avro are changed as well.
CREATE TABLE ${db}.o (id BIGINT, v STRING, d DECIMAL(9,2)) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.o VALUES (1, 'a', 1.5), (2, 'b', 2.25), (3, NULL, NULL);
DELETE FROM ${db}.o WHERE id = 2;
UPDATE ${db}.o SET v = 'n' WHERE v IS NULL;
SELECT * FROM ${db}.o ORDER BY id;
--> 1 | a | 1.50
--> 3 | n | null
CREATE TABLE ${db}.a (id BIGINT, v STRING, d DECIMAL(9,2)) USING iceberg TBLPROPERTIES ('write.format.default' = 'avro', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ${db}.a SELECT * FROM ${db}.o;
DELETE FROM ${db}.a WHERE v = 'a';
MERGE INTO ${db}.a t USING (SELECT 3L AS id, 'm' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
SELECT * FROM ${db}.a;
--> 3 | m | null
