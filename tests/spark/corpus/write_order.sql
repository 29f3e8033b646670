-- WRITE ORDERED BY sets the sort order and how rows are distributed.
CREATE TABLE ${db}.t (id BIGINT, c STRING) USING iceberg PARTITIONED BY (c);
ALTER TABLE ${db}.t WRITE ORDERED BY c, id DESC;
SHOW TBLPROPERTIES ${db}.t ('write.distribution-mode');
--> write.distribution-mode | range
ALTER TABLE ${db}.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY c;
SHOW TBLPROPERTIES ${db}.t ('write.distribution-mode');
--> write.distribution-mode | hash
