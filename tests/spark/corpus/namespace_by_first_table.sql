-- A hadoop catalog makes the missing namespaces of a new table, each inside the one before.
CREATE TABLE ${db}.first_use.within.t (id BIGINT) USING iceberg;
CREATE TABLE ${db}.first_use.within.of_query USING iceberg AS SELECT 1L AS id;
SHOW NAMESPACES IN ${db};
--> ${ns}.first_use
SHOW TABLES IN ${db}.first_use.within;
--> ${ns}.first_use.within | of_query | false
--> ${ns}.first_use.within | t | false
DROP TABLE ${db}.first_use.within.t;
DROP TABLE ${db}.first_use.within.of_query;
