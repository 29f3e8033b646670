"""Rewriting data and delete files: plan groups of files, have an engine read and write rows, commit."""
