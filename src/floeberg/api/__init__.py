"""What users hold: catalogs, tables, views, scans and transactions."""
