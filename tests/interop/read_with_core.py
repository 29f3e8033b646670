"""Run by the `core` peer: iceberg-rust (pyiceberg-core) under DataFusion."""

from datafusion import SessionContext
from peer_answers import Answer, answer_all
from pyiceberg_core.datafusion import IcebergDataFusionTable

from spark_runs.shown_arrow import shown_arrow


def read(metadata_location: str, query: str) -> Answer:
    context = SessionContext()
    table = IcebergDataFusionTable(identifier=["db", "t"], metadata_location=metadata_location, file_io_properties={})
    context.register_table("t", table)
    found = context.sql(query).to_arrow_table()
    return found.column_names, shown_arrow(found)


answer_all(read)
