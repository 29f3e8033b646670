-- Every type that both engines know, as DESCRIBE shows it.
CREATE TABLE ${db}.t (a BOOLEAN, b INT, c BIGINT, d FLOAT, e DOUBLE, f DECIMAL(10,2), g DATE, h TIMESTAMP, i TIMESTAMP_NTZ, j STRING, k BINARY) USING iceberg;
DESCRIBE ${db}.t;
--> a | boolean | null
--> b | int | null
--> c | bigint | null
--> d | float | null
--> e | double | null
--> f | decimal(10,2) | null
--> g | date | null
--> h | timestamp | null
--> i | timestamp_ntz | null
--> j | string | null
--> k | binary | null
