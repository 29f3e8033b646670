"""Conditions on rows: filters of the Python API, and what a statement says of single columns."""
