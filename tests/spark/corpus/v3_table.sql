-- A table of format version 3 is written and read as one of version 2.
CREATE TABLE ${db}.t (id BIGINT, s STRING) USING iceberg TBLPROPERTIES ('format-version' = '3');
INSERT INTO ${db}.t VALUES (1, 'a'), (2, 'b');
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | a
--> 2 | b
SHOW TBLPROPERTIES ${db}.t ('format-version');
--> format-version | 3
