-- A column and a field inside one.
CREATE TABLE ${db}.t (id BIGINT, p STRUCT<x: DOUBLE>) USING iceberg;
ALTER TABLE ${db}.t RENAME COLUMN id TO key;
ALTER TABLE ${db}.t RENAME COLUMN p.x TO lat;
DESCRIBE ${db}.t;
--> key | bigint | null
--> p | struct<lat:double> | null
