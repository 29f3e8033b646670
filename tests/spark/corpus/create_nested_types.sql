-- Structs, arrays and maps inside one another.
CREATE TABLE ${db}.t (s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, ARRAY<INT>>) USING iceberg;
DESCRIBE ${db}.t;
--> s | struct<a:int,b:struct<c:string>> | null
--> l | array<struct<x:int>> | null
--> m | map<string,array<int>> | null
