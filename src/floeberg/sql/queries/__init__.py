"""The skeleton of queries: which tables they read, and under which conditions."""
