"""Files of other writers as tables: adding them, and tables made of them."""
