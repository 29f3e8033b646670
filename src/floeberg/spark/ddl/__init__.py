"""Executes what changes or shows tables, views and namespaces."""
