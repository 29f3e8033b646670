"""The story of a table on local Spark: `make demo`, or `python examples/demo.py [folder]`.

Create, insert, evolve, merge, travel in time, branch, follow each row, see what changed, read it all with DuckDB; then a
pipeline of streams, from the events of a database to totals (`examples/pipeline`).
Needs Java 17 or newer; `examples/without_spark.py` tells the story in one process, without.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table as Grid

import floeberg as fb
from pipeline import steps
from pipeline.shop import Shop

TABLE = "lake.shop.orders"
CHECK_JAVA = Path(__file__).parents[1] / "tools" / "check_java.sh"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
console = Console()


def main() -> None:
    if len(sys.argv) > 1:
        tell(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory(prefix="floeberg-demo-") as folder:
        tell(Path(folder))


def tell(folder: Path) -> None:
    if CHECK_JAVA.exists() and subprocess.run(["sh", str(CHECK_JAVA)], check=False).returncode:
        sys.exit("Without Java, python examples/without_spark.py tells the same story.")
    folder.mkdir(parents=True, exist_ok=True)
    console.print(Panel.fit("[bold]Floeberg[/]: the story of a table\n[dim]on local Spark[/]", border_style="cyan"))
    with console.status("starting Spark …"):
        spark = start_spark(folder)
    with fb.catalog("lake", warehouse=str(folder / "warehouse")) as lake:
        fb.attach(spark, lake)
        try:
            story = Story(spark, lake)
            story.create()
            story.insert()
            story.evolve()
            story.merge()
            story.travel()
            story.branch()
            story.follow_rows()
            story.what_changed()
            story.read_with_duckdb()
            story.pipeline(folder)
        finally:
            fb.detach(spark)
            spark.stop()


def start_spark(folder: Path) -> Any:
    """A local session. What its JVM has to say goes to a file, whose end is shown when it does not start."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_DIRS", str(folder / "spark"))
    logging.getLogger("py4j").setLevel(logging.ERROR)
    log = folder / "spark.log"
    own_errors = os.dup(2)
    with log.open("w") as file:
        os.dup2(file.fileno(), 2)  # the JVM takes over the standard error that it finds
    try:
        builder = SparkSession.builder.master("local[2]").appName("floeberg-demo")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        spark = builder.config("spark.sql.warehouse.dir", str(folder / "spark-warehouse")).getOrCreate()
    except Exception as error:
        os.dup2(own_errors, 2)
        sys.exit(f"Spark did not start: {error}\n{log.read_text()[-2000:]}")
    os.dup2(own_errors, 2)
    os.close(own_errors)
    return spark


class Story:
    """One table, chapter by chapter."""

    def __init__(self, spark: Any, lake: fb.Catalog) -> None:
        self.spark = spark
        self.lake = lake
        self.number = 0

    @property
    def orders(self) -> fb.Table:
        return self.lake.load_table("shop.orders")

    def chapter(self, title: str) -> None:
        self.number += 1
        console.print(f"\n[bold cyan]{self.number}. {title}[/]")

    def run(self, text: str) -> Any:
        """Shows a statement and runs it."""
        console.print(Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True))
        return self.spark.sql(text)

    def show(self, frame: Any) -> None:
        grid = Grid(header_style="bold", border_style="dim")
        for name in frame.columns:
            grid.add_column(name)
        for row in frame.collect():
            grid.add_row(*("[dim]null[/]" if value is None else str(value) for value in row))
        console.print(grid)

    def create(self) -> None:
        self.chapter("A table")
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
        self.spark.sql(f"DROP TABLE IF EXISTS {TABLE}")
        self.run(
            f"CREATE TABLE {TABLE} (\n  id BIGINT NOT NULL, product STRING, price DECIMAL(10, 2), day DATE\n)\n"
            "PARTITIONED BY (months(day))\n"
            "TBLPROPERTIES (\n  'format-version' = '3',\n  'write.update.mode' = 'merge-on-read',\n"
            "  'write.merge.mode' = 'merge-on-read'\n)"
        )

    def insert(self) -> None:
        self.chapter("Rows")
        self.run(
            f"INSERT INTO {TABLE} VALUES\n"
            "  (1, 'tomato juice', 2.00, DATE '2024-01-18'),\n  (2, 'cocoa', 2.00, DATE '2024-01-26'),\n"
            "  (3, 'espresso', 2.00, DATE '2024-02-19'),\n  (4, 'broccoli', 1.00, DATE '2024-02-22')"
        )
        january = self.spark.table(TABLE).where("day < DATE '2024-02-01'")
        console.print(f"a query of January: {fb.explain(january).splitlines()[0]}", highlight=False)

    def evolve(self) -> None:
        self.chapter("Evolution, without rewriting a file")
        self.run(f"ALTER TABLE {TABLE} RENAME COLUMN product TO item")
        self.run(f"ALTER TABLE {TABLE} ADD COLUMN paid BOOLEAN DEFAULT false")
        self.run(f"ALTER TABLE {TABLE} ADD PARTITION FIELD bucket(2, id)")
        self.run(f"INSERT INTO {TABLE} VALUES (5, 'nutmeg', 1.50, DATE '2024-02-27', true)")
        self.show(self.spark.sql(f"SELECT * FROM {TABLE} ORDER BY id"))

    def merge(self) -> None:
        self.chapter("Rows change")
        self.run(f"UPDATE {TABLE} SET price = 4.00 WHERE item = 'cocoa'")
        self.run(
            f"MERGE INTO {TABLE} t\n"
            "USING (\n  SELECT * FROM VALUES (3, 'double espresso'), (4, NULL), (6, 'mint') AS v(id, item)\n) s\n"
            "ON t.id = s.id\n"
            "WHEN MATCHED AND s.item IS NULL THEN DELETE\n"
            "WHEN MATCHED THEN UPDATE SET item = s.item, paid = true\n"
            "WHEN NOT MATCHED THEN INSERT (id, item, day) VALUES (s.id, s.item, DATE '2024-02-28')"
        )
        self.show(self.spark.sql(f"SELECT * FROM {TABLE} ORDER BY id"))
        snapshot = self.orders.current_snapshot
        summary = {} if snapshot is None else snapshot.summary
        counts = ", ".join(f"{key} {value}" for key, value in summary.items() if key.startswith("rows-"))
        vectors = self.orders.inspect.delete_files().num_rows
        console.print(f"the MERGE says: {counts}; no file was rewritten, {vectors} deletion vectors mark the old rows")

    def travel(self) -> None:
        self.chapter("The past")
        first = self.orders.snapshots[0].snapshot_id
        self.show(self.run(f"SELECT * FROM {TABLE} VERSION AS OF {first} ORDER BY id"))

    def branch(self) -> None:
        self.chapter("A branch to try things")
        self.run(f"ALTER TABLE {TABLE} CREATE BRANCH audit")
        self.run(f"DELETE FROM {TABLE}.branch_audit WHERE NOT paid")
        self.count()
        self.run("CALL lake.system.fast_forward('shop.orders', 'main', 'audit')")
        self.count()

    def count(self) -> None:
        main, audit = (
            self.spark.sql(f"SELECT count(*) FROM {name}").collect()[0][0] for name in (TABLE, f"{TABLE}.branch_audit")
        )
        console.print(f"main has {main} rows, audit {audit}")

    def follow_rows(self) -> None:
        self.chapter("Each row has an identity, whatever file it lies in")
        self.show(
            self.run(f"SELECT _row_id, _last_updated_sequence_number, id, item, price FROM {TABLE} ORDER BY _row_id")
        )

    def what_changed(self) -> None:
        self.chapter("What changed since the first snapshot")
        self.show(
            self.run(
                "SELECT _change_ordinal, _change_type, id, item, price, paid\n"
                f"FROM {TABLE}.changes WHERE _change_ordinal > 0 ORDER BY _change_ordinal, id, _change_type"
            )
        )

    def read_with_duckdb(self) -> None:
        self.chapter("The same table, read by DuckDB")
        parts = ("duckdb", "duckdb_extension_avro", "duckdb_extension_iceberg")
        if missing := [name for name in parts if importlib.util.find_spec(name) is None]:
            console.print(f"[yellow]left out: {missing[0]} is not installed[/]")
            return
        duckdb = importlib.import_module("duckdb")
        connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        for name in parts[1:]:
            folder = Path(str(importlib.import_module(name).__file__)).parent
            connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
        columns = "id, item, CAST(price AS VARCHAR) AS price, CAST(day AS VARCHAR) AS day, paid"
        location = str(self.orders.metadata_location)
        theirs = connection.sql(f"SELECT {columns} FROM iceberg_scan('{location}') ORDER BY id").fetchall()
        spark_columns = columns.replace("VARCHAR", "STRING")
        ours = [tuple(row) for row in self.spark.sql(f"SELECT {spark_columns} FROM {TABLE} ORDER BY id").collect()]
        for row in theirs:
            console.print("  " + " · ".join("null" if value is None else str(value) for value in row), highlight=False)
        if theirs != ours:
            console.print(f"[bold red]DuckDB reads other rows[/] than Spark: {ours}")
            sys.exit(1)
        console.print("[bold green]DuckDB reads the same rows[/]")

    def pipeline(self, folder: Path) -> None:
        self.chapter(
            "A pipeline: Debezium's events → bronze → silver, as the source is → gold, by what changed in silver"
        )
        shop = Shop(seed=5)
        steps.create_tables(self.lake)
        for _ in range(2):
            for _ in range(10):
                shop.change()
            shop.deliver(folder / "incoming")
            steps.run(self.spark, self.lake, folder)
            counts = [self.spark.table(name).count() for name in (steps.BRONZE, steps.SILVER)]
            console.print(f"{counts[0]} messages arrived; the source has {counts[1]} orders now", highlight=False)
        self.show(self.run(f"SELECT * FROM {steps.GOLD} ORDER BY customer"))
        if {row[0]: tuple(row[1:]) for row in self.spark.table(steps.GOLD).collect()} != shop.totals():
            console.print(f"[bold red]the source has other totals[/]: {shop.totals()}")
            sys.exit(1)
        console.print("[bold green]the totals are those of the source[/], each event counted once")


if __name__ == "__main__":
    main()
