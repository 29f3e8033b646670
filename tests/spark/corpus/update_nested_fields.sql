-- One field of a struct is set, the others stay.
CREATE TABLE ${db}.t (id BIGINT, p STRUCT<x: INT, y: STRUCT<z: STRING, w: INT>>) USING iceberg;
INSERT INTO ${db}.t VALUES (1, named_struct('x', 1, 'y', named_struct('z', 'a', 'w', 5))), (2, named_struct('x', 2, 'y', named_struct('z', 'b', 'w', 6)));
UPDATE ${db}.t SET p.y.z = 'new', p.x = p.x + 100 WHERE id = 2;
SELECT id, p.x, p.y.z, p.y.w FROM ${db}.t ORDER BY id;
--> 1 | 1 | a | 5
--> 2 | 102 | new | 6
