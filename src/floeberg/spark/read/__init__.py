"""Reading tables as Spark DataFrames."""
