"""Run by the `core` peer: prints the rows of tables as JSON lines, as iceberg-rust and DataFusion read them."""

import json
import sys

from datafusion import SessionContext
from pyiceberg_core.datafusion import IcebergDataFusionTable


def main(*metadata_locations: str) -> None:
    for number, location in enumerate(metadata_locations):
        context = SessionContext()
        table = IcebergDataFusionTable(identifier=["db", "t"], metadata_location=location, file_io_properties={})
        context.register_table("t", table)
        for row in context.sql("SELECT * FROM t").to_arrow_table().to_pylist():
            print(json.dumps({"table": number, "row": {key: str(value) for key, value in row.items()}}))


main(*sys.argv[1:])
