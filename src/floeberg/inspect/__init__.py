"""The metadata tables."""
