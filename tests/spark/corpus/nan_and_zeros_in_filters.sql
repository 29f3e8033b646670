-- Spark holds NaN greater than any number, and both zeros for equal; bounds must not lose such rows.
CREATE TABLE ${db}.t (id BIGINT, x DOUBLE) USING iceberg;
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, double('NaN')), (2L, -0.0D), (3L, -5D);
SELECT id FROM ${db}.t WHERE x > 0;
--> 1
--java: it loses NaN rows by the upper bound
SELECT id FROM ${db}.t WHERE x = 0.0;
--> 2
--java: it loses -0.0 by the lower bound
