"""Floeberg."""
