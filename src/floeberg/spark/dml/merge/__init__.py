"""MERGE, as a statement and as `df.mergeInto`: clauses, keys, and the joined rows that become a change."""
