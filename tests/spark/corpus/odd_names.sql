-- Dots, backquotes, braces and letters of any script in the names of tables and columns.
CREATE TABLE ${db}.`a.b{c}` (id INT, `x.y` STRING, `{z}` INT, `ü``☃` STRUCT<`d.e`: INT, f: INT>) USING iceberg PARTITIONED BY (`x.y`, bucket(2, `{z}`));
INSERT INTO ${db}.`a.b{c}` VALUES (1, 'p', 3, struct(1, 2)), (2, 'q', 6, struct(4, 5));
UPDATE ${db}.`a.b{c}` SET `{z}` = `{z}` + 1, `ü``☃`.`d.e` = 9 WHERE `x.y` = 'q';
MERGE INTO ${db}.`a.b{c}` AS `t{}` USING (SELECT 1 AS id, 'm' AS `x.y`) AS `s{}` ON `t{}`.id = `s{}`.id WHEN MATCHED THEN UPDATE SET `x.y` = `s{}`.`x.y`;
DELETE FROM ${db}.`a.b{c}` WHERE `x.y` IN (SELECT `x.y` FROM ${db}.`a.b{c}` WHERE `{z}` > 100);
SELECT id, `x.y`, `{z}`, `ü``☃`.`d.e`, `a.b{c}`.`ü``☃`.f FROM ${db}.`a.b{c}` ORDER BY id;
--> 1 | m | 3 | 1 | 2
--> 2 | q | 7 | 9 | 5
SELECT partition.`x.y` FROM ${db}.`a.b{c}`.partitions ORDER BY 1;
--> m
--> q
