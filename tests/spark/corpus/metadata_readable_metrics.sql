-- Bounds and counts as values of the column's type.
CREATE TABLE ${db}.t (id BIGINT, s STRING, d DOUBLE, dt DATE) USING iceberg;
INSERT INTO ${db}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, 'abc', 0.5D, DATE '2024-01-01'), (5L, NULL, double('NaN'), DATE '1969-12-31'), (3L, 'zz', -1D, NULL);
SELECT readable_metrics.id.lower_bound, readable_metrics.id.upper_bound, readable_metrics.s.null_value_count, readable_metrics.s.lower_bound, readable_metrics.s.upper_bound FROM ${db}.t.files;
--> 1 | 5 | 1 | abc | zz
SELECT readable_metrics.d.nan_value_count, readable_metrics.d.lower_bound, readable_metrics.d.upper_bound, readable_metrics.dt.lower_bound, readable_metrics.dt.upper_bound FROM ${db}.t.files;
--> 1 | -1.0 | 0.5 | 1969-12-31 | 2024-01-01
