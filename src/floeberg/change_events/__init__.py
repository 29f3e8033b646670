"""Change data capture: events of changed rows become data files, equality deletes and deletes of positions."""
