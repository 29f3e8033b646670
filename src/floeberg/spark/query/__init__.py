"""Queries over tables: references, views and functions in the text of a statement."""
