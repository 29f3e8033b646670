-- A field of a struct, of an array's element and of a map's value.
CREATE TABLE ${db}.t (p STRUCT<x: DOUBLE>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>) USING iceberg;
ALTER TABLE ${db}.t ADD COLUMN p.y DOUBLE;
ALTER TABLE ${db}.t ADD COLUMN l.element.y INT;
ALTER TABLE ${db}.t ADD COLUMN m.value.y INT;
DESCRIBE ${db}.t;
--> p | struct<x:double,y:double> | null
--> l | array<struct<x:int,y:int>> | null
--> m | map<string,struct<x:int,y:int>> | null
