-- CREATE OR REPLACE … AS SELECT keeps the old snapshots.
CREATE TABLE ${db}.t USING iceberg AS SELECT 1L AS id;
CREATE OR REPLACE TABLE ${db}.t USING iceberg AS SELECT 'x' AS name, 2L AS id;
SELECT * FROM ${db}.t;
--> x | 2
SELECT count(*) FROM ${db}.t.snapshots;
--> 2
