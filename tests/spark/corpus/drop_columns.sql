-- A column, and a field inside one.
CREATE TABLE ${db}.t (id BIGINT, a INT, p STRUCT<x: INT, y: INT>) USING iceberg;
ALTER TABLE ${db}.t DROP COLUMN a;
ALTER TABLE ${db}.t DROP COLUMN p.x;
DESCRIBE ${db}.t;
--> id | bigint | null
--> p | struct<y:int> | null
