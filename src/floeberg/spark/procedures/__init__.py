"""CALL: the procedures of `catalog.system`."""
