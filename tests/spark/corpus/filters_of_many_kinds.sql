-- Conditions that leave files out must not leave rows out.
CREATE TABLE ${db}.t (id BIGINT, s STRING, d DOUBLE) USING iceberg PARTITIONED BY (truncate(1, s));
INSERT INTO ${db}.t VALUES (1, 'ab', 0.5), (2, 'ac', double('NaN')), (3, 'bd', -0.0), (4, NULL, NULL);
SELECT id FROM ${db}.t WHERE s LIKE 'a%' ORDER BY id;
--> 1
--> 2
SELECT id FROM ${db}.t WHERE s IS NULL OR id = 3 ORDER BY id;
--> 3
--> 4
SELECT id FROM ${db}.t WHERE id NOT IN (1, 2) AND s IS NOT NULL;
--> 3
SELECT id FROM ${db}.t WHERE id BETWEEN 2 AND 3 AND s < 'b';
--> 2
