-- What cannot be set is refused.
CREATE TABLE ${db}.t (id BIGINT NOT NULL, v INT) USING iceberg;
INSERT INTO ${db}.t VALUES (1, 1);
UPDATE ${db}.t SET nope = 1;
--!
UPDATE ${db}.t SET v = 'text';
--!
UPDATE ${db}.t SET v = 1, v = 2;
--!
SELECT * FROM ${db}.t;
--> 1 | 1
