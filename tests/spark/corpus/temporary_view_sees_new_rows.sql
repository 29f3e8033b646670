-- A temporary view is a query, not a copy.
CREATE TABLE ${db}.t (id BIGINT) USING iceberg;
INSERT INTO ${db}.t VALUES (1);
CREATE OR REPLACE TEMPORARY VIEW corpus_view AS SELECT id * 2 AS twice FROM ${db}.t;
INSERT INTO ${db}.t VALUES (5);
SELECT twice FROM corpus_view ORDER BY 1;
--> 2
--> 10
DROP VIEW corpus_view;
