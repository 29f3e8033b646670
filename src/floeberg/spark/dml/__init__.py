"""DELETE, UPDATE and MERGE on Spark."""
