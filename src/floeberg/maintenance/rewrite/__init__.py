"""Rewriting data files: plan groups of files, have an engine write their live rows anew, commit."""
