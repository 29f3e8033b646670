-- Column defaults of version 3: for rows written before the column was there, and for rows that leave it out.
CREATE TABLE ${db}.t (id BIGINT, s STRING DEFAULT 'none') USING iceberg TBLPROPERTIES ('format-version' = '3');
--java: it refuses DEFAULT in DDL
INSERT INTO ${db}.t (id) VALUES (1);
--java: there is no table
ALTER TABLE ${db}.t ADD COLUMN n INT DEFAULT 7;
--java: there is no table
INSERT INTO ${db}.t VALUES (2, DEFAULT, DEFAULT), (3, 'c', 3);
--java: there is no table
SELECT * FROM ${db}.t ORDER BY id;
--> 1 | none | 7
--> 2 | none | 7
--> 3 | c | 3
--java: there is no table
