-- SHOW COLUMNS.
CREATE TABLE ${db}.t (id BIGINT, p STRUCT<x: INT>, s STRING) USING iceberg;
SHOW COLUMNS IN ${db}.t;
--> id
--> p
--> s
