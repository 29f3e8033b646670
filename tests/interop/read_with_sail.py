"""Run by the `sail` peer: Sail, a Spark Connect server in Rust with an Iceberg reader of its own."""

import os
from pathlib import Path

os.environ.setdefault("RUST_LOG", "error")
os.environ["TZ"] = "UTC"

from peer_answers import Answer, answer_all
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

from spark_runs.corpus_scripts import shown_row

server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
host, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")


def read(metadata_location: str, query: str) -> Answer:
    """Sail finds the newest metadata file of a folder itself."""
    folder = Path(metadata_location.removeprefix("file://")).parent.parent
    spark.read.format("iceberg").load(str(folder)).createOrReplaceTempView("t")
    found = spark.sql(query)
    return found.columns, [shown_row(row) for row in found.collect()]


answer_all(read)
