"""The session that statements run in: its state, settings, types and catalogs."""
