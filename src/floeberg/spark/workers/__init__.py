"""What runs in Spark's Python workers, and how jobs reach them."""
