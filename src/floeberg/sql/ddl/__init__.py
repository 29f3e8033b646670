"""Types, columns and default values in text."""
