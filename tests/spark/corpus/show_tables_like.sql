-- SHOW TABLES with a pattern.
CREATE TABLE ${db}.apple (id BIGINT) USING iceberg;
CREATE TABLE ${db}.banana (id BIGINT) USING iceberg;
CREATE TABLE ${db}.apricot (id BIGINT) USING iceberg;
SHOW TABLES IN ${db} LIKE 'ap*';
--> ${ns} | apple | false
--> ${ns} | apricot | false
