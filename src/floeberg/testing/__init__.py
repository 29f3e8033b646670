"""Shipped for tests: simulated effects and faults, and a scheduler of simulated writers."""
