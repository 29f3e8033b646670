"""How jobs reach Spark's Python workers, and what they share there."""
