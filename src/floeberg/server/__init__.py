"""The server: the Iceberg REST protocol over a catalog of ours, and a page to look into its tables."""
