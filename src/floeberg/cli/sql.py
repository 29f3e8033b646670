"""`floeberg sql`: a query over tables."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.row_output import Format, OutputOption, ToOption, show_rows
from floeberg.cli.sql_engine import run_query
from floeberg.cli.target import Target

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT, in DuckDB's dialect.")]


@with_shared_options
def sql(
    target: Target,
    printer: Printer,
    query: QueryArgument,
    output: OutputOption = Format.TABLE,
    to: ToOption = None,
) -> None:
    """Run a query over tables, by DuckDB (pip install duckdb).

    Tables are named db.table or catalog.db.table. The result is held in memory.

    floeberg sql "SELECT city, count(*) FROM db.orders WHERE price > 3 GROUP BY ALL ORDER BY 2 DESC"

    floeberg sql "SELECT * FROM db.orders JOIN db.people USING (id)" -o parquet --to joined.parquet
    """
    result = run_query(query, target.named_table)
    show_rows(printer, result.to_reader(), output=output, to=to, limit=result.num_rows)
