"""Deletes as columns and joins of a scan."""
