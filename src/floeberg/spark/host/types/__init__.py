"""Iceberg types and values as those of Spark."""
