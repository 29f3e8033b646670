-- Namespaces inside one another.
CREATE NAMESPACE ${db}.inner_one;
CREATE NAMESPACE IF NOT EXISTS ${db}.inner_one;
SHOW NAMESPACES IN ${db};
--> ${ns}.inner_one
CREATE TABLE ${db}.inner_one.t (id BIGINT) USING iceberg;
SHOW TABLES IN ${db}.inner_one;
--> ${ns}.inner_one | t | false
DROP TABLE ${db}.inner_one.t;
DROP NAMESPACE ${db}.inner_one;
SHOW NAMESPACES IN ${db};
