"""Tokens, names and literals."""
