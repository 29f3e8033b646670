"""The 22 queries of TPC-H on Spark beside the Java runtime, on the same Spark and the same files, in one run.

    python -m bench.tpch [--scale N] [--queries 3,7,19] [--pairs N] [--vectors] [--folder DIR]

lineitem and orders are partitioned by the month of their date. `--vectors` deletes 2 % of their rows by deletion vectors.
"""

from __future__ import annotations

from typing import Final

from bench.tpc import Benchmark, run

TPCH: Final = Benchmark("tpch", "dbgen", {"lineitem": "month(l_shipdate)", "orders": "month(o_orderdate)"})

if __name__ == "__main__":
    run(TPCH, __doc__)
