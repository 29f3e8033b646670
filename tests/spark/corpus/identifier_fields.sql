-- SET and DROP IDENTIFIER FIELDS.
CREATE TABLE ${db}.t (id BIGINT NOT NULL, k STRING NOT NULL, v INT) USING iceberg;
ALTER TABLE ${db}.t SET IDENTIFIER FIELDS id, k;
SHOW TBLPROPERTIES ${db}.t ('identifier-fields');
--> identifier-fields | [id,k]
ALTER TABLE ${db}.t DROP IDENTIFIER FIELDS k;
SHOW TBLPROPERTIES ${db}.t ('identifier-fields');
--> identifier-fields | [id]
