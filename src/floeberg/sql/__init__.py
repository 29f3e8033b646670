"""Pure: the text of Spark SQL, read in one place."""
