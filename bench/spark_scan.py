"""Queries on Spark beside the Java runtime, on the same Spark and the same files, in one run.

    python -m bench.spark_scan [--rows N] [--repeat N] [--sail] [--patience SECONDS] [--only TABLE] [--folder DIR]

Lineitem's 16 columns: plain, with 2 % of the rows deleted by deletion vectors, with 20 equality delete files of 50,000 keys
each, and in 1,000 partitions. The engines take turns query by query; each figure is the best of the runs after one that
warms. × is ours by the Java runtime's: below 1 is cheaper.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.lineitem import make_tables
from bench.spark_engines import Answer, Engine, arguments, best

REVENUE: Final = "sum(l_extendedprice * l_discount)"
GENERAL: Final = {
    "q1": "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), "
    "sum(l_extendedprice * (1 - l_discount)), avg(l_quantity), avg(l_discount), count(*) FROM {t} "
    "WHERE l_shipdate <= DATE '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2",
    "q6": f"SELECT {REVENUE} FROM {{t}} WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    "narrow": "SELECT sum(l_partkey), max(l_suppkey) FROM {t}",
    "strings": "SELECT l_shipmode, l_shipinstruct, count(*), max(l_comment) FROM {t} GROUP BY 1, 2 ORDER BY 1, 2",
    "wide": "SELECT sum(hash(*)) FROM {t}",
}
POINT: Final = {"point": "SELECT l_partkey, l_comment FROM {t} WHERE l_orderkey = 777777 ORDER BY 1, 2"}
COUNT: Final = {"count": "SELECT count(*) FROM {t} WHERE l_partkey > 0"}
PARTITION: Final = {"partition": f"SELECT {REVENUE}, count(*) FROM {{t}} WHERE part = 421"}
QUERIES: Final = {
    "plain": {**GENERAL, **POINT},
    "vectors": {**GENERAL, **POINT},
    "equality": {"q1": GENERAL["q1"], "narrow": GENERAL["narrow"], **COUNT},
    "parts": PARTITION,
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sail", action="store_true")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that an engine has for a query")
    parser.add_argument("--only", choices=QUERIES)
    given = parser.parse_args()
    warehouse = Path(given.folder) / f"scan-{given.rows}"
    warehouse.mkdir(parents=True, exist_ok=True)
    make_tables(warehouse, rows=given.rows)
    names = ["java", "floeberg", *(["sail"] if given.sail else [])]
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(name, warehouse, patience_seconds=given.patience)) for name in names]
        print(f"{given.rows:,} rows, best of {given.repeat}; seconds (processor seconds)", flush=True)
        for table, queries in QUERIES.items():
            if given.only in (None, table):
                _compare(engines, table, queries, given.repeat)


def _compare(engines: list[Engine], table: str, queries: dict[str, str], repeat: int) -> None:
    sums: dict[str, list[float]] = {engine.name: [0.0, 0.0] for engine in engines}
    for name, query in queries.items():
        found: dict[str, Answer | str] = {}
        for engine in engines:
            at = f"db_{table}" if engine.name == "sail" else f"bench.db.{table}"
            try:
                engine.run(query.format(t=at))
                found[engine.name] = best(engine, query.format(t=at), repeat=repeat)
            except RuntimeError as error:
                found[engine.name] = str(error)
        _print(table, name, found)
        for engine_name, answer in found.items():
            if isinstance(answer, Answer):
                sums[engine_name][0] += answer.seconds
                sums[engine_name][1] += answer.cpu_seconds
    if len(queries) > 1:
        _print(table, "sum", {name: Answer(wall, cpu, []) for name, (wall, cpu) in sums.items()})


def _print(table: str, query: str, found: dict[str, Answer | str]) -> None:
    java = found["java"]
    cells = []
    for name, answer in found.items():
        if isinstance(answer, str):
            cells.append(f"{name}: {answer[:90]}")
            continue
        cell = f"{name} {answer.seconds:6.2f} ({answer.cpu_seconds:6.2f})"
        if name != "java" and isinstance(java, Answer):
            same = "" if name == "sail" or answer.rows == java.rows else " DIFFERENT ROWS"
            cell += f" × {answer.seconds / java.seconds:4.2f} ({answer.cpu_seconds / java.cpu_seconds:4.2f}){same}"
        cells.append(cell)
    print(f"  {table:<9} {query:<10} {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
