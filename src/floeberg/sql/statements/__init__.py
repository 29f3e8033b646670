"""Statements as data, and the grammar that reads them."""
