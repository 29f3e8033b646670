-- Properties come and go.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg TBLPROPERTIES ('my.key' = 'one', 'my.other' = 'x');
ALTER TABLE ${db}.t SET TBLPROPERTIES ('my.key' = 'two', 'read.split.target-size' = '268435456');
ALTER TABLE ${db}.t UNSET TBLPROPERTIES ('my.other');
SHOW TBLPROPERTIES ${db}.t ('my.key');
--> my.key | two
SHOW TBLPROPERTIES ${db}.t ('read.split.target-size');
--> read.split.target-size | 268435456
