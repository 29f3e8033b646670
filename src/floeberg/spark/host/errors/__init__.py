"""Errors as Spark's users know them, in terms of the text that they wrote."""
