"""Scans by Spark's own Parquet reader."""
