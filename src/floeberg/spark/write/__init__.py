"""Writing Spark DataFrames into tables."""
