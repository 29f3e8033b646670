"""Structured Streaming: what a query writes into tables and reads from them."""
