"""Keeping tables healthy."""
