"""A table under another path: its metadata, manifests and deletes with the new path in them."""
