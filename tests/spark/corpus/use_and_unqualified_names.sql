-- USE makes names short.
USE ${db};
CREATE TABLE short (id BIGINT) USING iceberg;
SHOW TABLES LIKE 'short';
--> ${ns} | short | false
SELECT count(*) FROM short;
--> 0
DROP TABLE short;
USE spark_catalog;
