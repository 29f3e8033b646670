"""Understanding SQL text: pure functions from text to data, without a Spark session."""
