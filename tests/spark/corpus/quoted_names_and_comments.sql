-- Quoted names, comments and texts that look like table names.
CREATE TABLE ${db}.`odd name` (`a b` BIGINT, `select` STRING) USING iceberg;
INSERT INTO ${db}.`odd name` VALUES (1, 'FROM lake.db.t');
SELECT `a b`, /* FROM lake.nothing */ `select` -- lake.other
FROM ${db}.`odd name` WHERE `select` = 'FROM lake.db.t';
--> 1 | FROM lake.db.t
