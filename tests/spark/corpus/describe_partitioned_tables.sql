CREATE TABLE ${db}.t (id INT COMMENT 'the id', name STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts), bucket(4, id), name) COMMENT 'a table';
DESCRIBE ${db}.t;
--> id | int | the id
--> name | string | null
--> ts | timestamp | null
-->  |  |
--> # Partitioning |  |
--> Part 0 | days(ts) |
--> Part 1 | bucket(4, id) |
--> Part 2 | name |
DESCRIBE ${db}.t id;
--> col_name | id
--> data_type | int
--> comment | the id
DESCRIBE ${db}.t nope;
--!
CREATE TABLE ${db}.n (s STRUCT<a: INT>) USING iceberg;
DESCRIBE ${db}.n s.a;
--!
SHOW TBLPROPERTIES ${db}.t ('nope');
--> nope | Table lake.${ns}.t does not have property: nope
