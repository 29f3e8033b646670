"""The Iceberg REST protocol: open-api/rest-catalog-open-api.yaml of apache/iceberg."""
