"""Catalogs: names, metadata pointers and the one compare-and-swap of each table."""
