"""The code of the documentation, taken from its pages and run."""
