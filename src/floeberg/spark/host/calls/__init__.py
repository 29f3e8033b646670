"""How Spark is called: by PySpark's own methods, and by the JVM of a classic session where PySpark has none."""
