-- The format version is a property of CREATE and of ALTER.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '1');
ALTER TABLE ${db}.t SET TBLPROPERTIES ('format-version' = '2');
SHOW TBLPROPERTIES ${db}.t ('format-version');
--> format-version | 2
