"""The story of a table in one process, without a JVM: `python examples/without_spark.py [folder]`.

Create, append, evolve, change rows, travel in time, branch, follow each row, see what changed, and read it all with DuckDB.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.panel import Panel
from rich.table import Table as Grid

import floeberg as fb

console = Console()


def main() -> None:
    if len(sys.argv) > 1:
        tell(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory(prefix="floeberg-demo-") as folder:
        tell(Path(folder))


def tell(folder: Path) -> None:
    console.print(
        Panel.fit("[bold]Floeberg[/]: the story of a table\n[dim]one process, no JVM[/]", border_style="cyan")
    )
    lake = fb.catalog("lake", warehouse=str(folder / "warehouse"))
    lake.create_namespace("shop", if_not_exists=True)
    orders = create(lake)
    append(orders)
    evolve(orders)
    change_rows(orders)
    travel(orders)
    branch(orders)
    follow_rows(orders)
    what_changed(orders)
    read_with_duckdb(orders)


def chapter(title: str, code: str) -> None:
    console.print(f"\n[bold cyan]{title}[/]")
    console.print(f"[dim]{code}[/]", highlight=False)


def show(rows: pa.Table, *, sort_by: str = "id") -> None:
    grid = Grid(header_style="bold", border_style="dim")
    for name in rows.schema.names:
        grid.add_column(name)
    for row in sorted(rows.to_pylist(), key=lambda row: (row[sort_by] is None, row[sort_by])):
        grid.add_row(*("[dim]null[/]" if value is None else str(value) for value in row.values()))
    console.print(grid)


def create(lake: fb.Catalog) -> fb.Table:
    chapter("1. A table", 'lake.create_table("shop.orders", …, partition_by=["month(day)"], format_version=3)')
    lake.drop_table("shop.orders", if_exists=True)
    orders = lake.create_table(
        "shop.orders",
        "id BIGINT NOT NULL, product STRING, price DECIMAL(10,2), day DATE",
        partition_by=["month(day)"],
        sort_by=["id"],
        properties={f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")},
        format_version=3,
    )
    console.print(str(orders.schema), highlight=False)
    return orders


def append(orders: fb.Table) -> None:
    chapter("2. Rows", "orders.append(pa.table(…))")
    orders.append(some_rows([(1, "tomato juice", "2.00", "2024-01-18"), (2, "cocoa", "2.00", "2024-01-26")]))
    orders.append(some_rows([(3, "espresso", "2.00", "2024-02-19"), (4, "broccoli", "1.00", "2024-02-22")]))
    files = len(orders.scan().plan())
    january = orders.scan(where="day < DATE '2024-02-01'")
    show(orders.scan().to_arrow())
    console.print(f"a query of January plans [bold]{len(january.plan())}[/] of {files} files, by partition")


def some_rows(rows: list[tuple[int, str, str, str]]) -> pa.Table:
    return pa.table(
        {
            "id": [row[0] for row in rows],
            "product": [row[1] for row in rows],
            "price": pa.array([Decimal(row[2]) for row in rows], pa.decimal128(10, 2)),
            "day": [dt.date.fromisoformat(row[3]) for row in rows],
        }
    )


def evolve(orders: fb.Table) -> None:
    chapter(
        "3. Evolution without rewriting",
        'u.rename_column("product", "item"); u.add_column("paid", "boolean", default=False)',
    )
    with orders.transaction() as tx:
        with tx.update_schema() as update:
            update.rename_column("product", "item")
            update.add_column("paid", "boolean", default=False)
        with tx.update_spec() as update:
            update.add_field("bucket(2, id)")
    orders.append(some_rows([(5, "nutmeg", "1.50", "2024-02-27")]).rename_columns(["id", "item", "price", "day"]))
    show(orders.scan().to_arrow())


def change_rows(orders: fb.Table) -> None:
    chapter(
        "4. Rows change",
        'orders.update({"price": 4}, where=…); orders.delete(where=…); orders.upsert(…, on=["id"])',
    )
    orders.update({"price": Decimal("4.00")}, where="item = 'cocoa'")
    orders.delete(where="item = 'broccoli'")
    snapshot = orders.upsert(pa.table({"id": [3, 6], "item": ["espresso", "mint"], "paid": [True, True]}), on=["id"])
    show(orders.scan().to_arrow())
    deletes = orders.scan().plan().delete_files
    console.print(f"no file was rewritten: {len(deletes)} deletion vectors mark the old rows")
    if snapshot is not None:
        counts = ", ".join(f"{key} {value}" for key, value in snapshot.summary.items() if key.startswith("rows-"))
        console.print(f"the upsert says: {counts}")


def travel(orders: fb.Table) -> None:
    chapter("5. The past", "orders.scan(snapshot_id=orders.snapshots[1].snapshot_id)")
    show(orders.scan(snapshot_id=orders.snapshots[1].snapshot_id).to_arrow())


def branch(orders: fb.Table) -> None:
    chapter(
        "6. A branch to try things", 'r.create_branch("audit"); orders.delete(where="paid = false", branch="audit")'
    )
    with orders.manage_refs() as refs:
        refs.create_branch("audit")
        refs.create_tag("before-audit")
    orders.delete(where="paid = false", branch="audit")
    console.print(f"main has {orders.scan().count()} rows, audit {orders.scan(ref='audit').count()}")
    with orders.manage_refs() as refs:
        refs.fast_forward("main", "audit")
        refs.rollback_to_snapshot(orders.refs["before-audit"].snapshot_id)
    console.print(f"main went forward to audit and back again: {orders.scan().count()} rows")


def follow_rows(orders: fb.Table) -> None:
    chapter("7. Each row has an identity", 'orders.scan(["_row_id", "_last_updated_sequence_number", "id", "item"])')
    show(orders.scan(["_row_id", "_last_updated_sequence_number", "id", "item", "price"]).to_arrow(), sort_by="_row_id")


def what_changed(orders: fb.Table) -> None:
    chapter("8. What changed", "orders.scan_changes(from_snapshot_id)")
    changes = orders.scan_changes(orders.snapshots[2].snapshot_id, select=["id", "item", "price", "paid"])
    show(changes.to_arrow().drop_columns(["_commit_snapshot_id"]), sort_by="_change_ordinal")


def read_with_duckdb(orders: fb.Table) -> None:
    chapter("9. Another reader", f"SELECT … FROM iceberg_scan('{Path(str(orders.metadata_location)).name}')")
    parts = ("duckdb", "duckdb_extension_avro", "duckdb_extension_iceberg")
    if missing := [name for name in parts if importlib.util.find_spec(name) is None]:
        console.print(f"[yellow]left out: {missing[0]} is not installed[/]")
        return
    duckdb = importlib.import_module("duckdb")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in parts[1:]:
        folder = Path(str(importlib.import_module(name).__file__)).parent
        connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
    query = f"SELECT id, item, price, paid, day FROM iceberg_scan('{orders.metadata_location}')"
    theirs = connection.sql(query).to_arrow_table()
    show(theirs)
    ours = orders.scan(["id", "item", "price", "paid", "day"]).to_arrow()
    same = sorted(map(str, theirs.to_pylist())) == sorted(map(str, ours.to_pylist()))
    console.print("[bold green]DuckDB reads the same rows[/]" if same else "[bold red]DuckDB reads other rows[/]")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
