"""The 99 queries of TPC-DS on Spark beside the Java runtime, on the same Spark and the same files, in one run.

    python -m bench.tpcds [--scale N] [--queries 3,7,19] [--pairs N] [--vectors] [--folder DIR]

Facts are partitioned by `truncate(30, …)` of their date, returns by 90. `--vectors` deletes 2 % of the rows of each fact by
deletion vectors.
"""

from __future__ import annotations

from typing import Final

from bench.tpc import Benchmark, run

TPCDS: Final = Benchmark(
    "tpcds",
    "dsdgen",
    {
        "store_sales": "truncate(30, ss_sold_date_sk)",
        "catalog_sales": "truncate(30, cs_sold_date_sk)",
        "web_sales": "truncate(30, ws_sold_date_sk)",
        "store_returns": "truncate(90, sr_returned_date_sk)",
        "catalog_returns": "truncate(90, cr_returned_date_sk)",
        "web_returns": "truncate(90, wr_returned_date_sk)",
        "inventory": "truncate(30, inv_date_sk)",
    },
)

if __name__ == "__main__":
    run(TPCDS, __doc__)
