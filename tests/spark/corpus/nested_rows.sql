-- Nested values in and out, and a filter on a field.
CREATE TABLE ${db}.t (id BIGINT, p STRUCT<x: INT, y: STRING>, l ARRAY<INT>, m MAP<STRING, INT>) USING iceberg;
INSERT INTO ${db}.t VALUES (1, named_struct('x', 1, 'y', 'a'), array(1, 2), map('k', 1)), (2, NULL, NULL, NULL);
SELECT p.y, l[1], m['k'] FROM ${db}.t WHERE p.x = 1;
--> a | 2 | 1
SELECT id FROM ${db}.t WHERE p IS NULL;
--> 2
