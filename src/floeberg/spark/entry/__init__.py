"""Where users come in: what `attach` patches, readers, writers, the data source."""
