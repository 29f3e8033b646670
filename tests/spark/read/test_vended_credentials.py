"""Credentials that a REST catalog vends reach Spark's Python workers, for reading and for writing, and no plan shows them."""

from __future__ import annotations

import contextlib
import io
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
import pyarrow as pa
import pytest

import floeberg as fb
from catalogs.rest.over_http import over_http
from catalogs.rest.scripted import ScriptedServer
from servers.ending_s3 import ending_s3
from servers.s3_server import running_s3_server

SENTINEL = "vended-5ecret"
CATALOG_TOKEN = "catalog-5ecret"


@pytest.mark.s3
def test_vended_credentials_reach_workers_and_no_plan(spark: Any) -> None:
    with running_s3_server() as s3:
        bucket = s3.new_bucket()
        made = fb.catalog("made", warehouse=f"s3://{bucket}/wh", properties=s3.options())
        made.create_namespace("db")
        table = made.create_table("db.t", "id bigint", properties={"write.delete.mode": "merge-on-read"})
        for ids in ([1, 2], [3, 4]):
            table.append(pa.table({"id": pa.array(ids, pa.int64())}))
        server = ScriptedServer(namespaces={("db",): {}})
        server.put(("db", "t"), table.metadata)
        vended = {**s3.options(), "s3.secret-access-key": SENTINEL, "s3.session-token": f"{SENTINEL}-session"}
        server.credentials = [{"prefix": f"s3://{bucket}/wh/", "config": vended}]
        with over_http(server) as uri, fb.catalog("vended", type="rest", uri=uri) as cat:
            fb.attach(spark, cat)
            try:
                frame = spark.table("vended.db.t")
                assert sorted(row.id for row in frame.collect()) == [1, 2, 3, 4]
                spark.sql("INSERT INTO vended.db.t VALUES (5)")
                spark.sql("DELETE FROM vended.db.t WHERE id = 2")
                assert sorted(row.id for row in spark.table("vended.db.t").collect()) == [1, 3, 4, 5]
                shown = io.StringIO()
                with contextlib.redirect_stdout(shown):
                    frame.explain(True)
                settings = str(spark.conf.getAll)
                assert SENTINEL not in shown.getvalue() + settings + repr(cat) + str(fb.explain(frame))
            finally:
                fb.detach(spark)
    assert not any(SENTINEL in str(request.url) for request in server.requests)


@pytest.mark.s3
def test_a_job_whose_credentials_end_says_so_leaves_nothing_behind_and_can_be_run_again(spark: Any) -> None:
    with running_s3_server() as s3, ending_s3(s3.endpoint) as (endpoint, ended):
        bucket = s3.new_bucket()
        made = fb.catalog("made", warehouse=f"s3://{bucket}/wh", properties=s3.options())
        made.create_namespace("db")
        table = made.create_table("db.t", "id bigint")
        table.append(pa.table({"id": [1, 2]}))
        server = ScriptedServer(namespaces={("db",): {}})
        server.put(("db", "t"), table.metadata)

        def vend(token: str) -> None:
            end = {"s3.session-token": token, "s3.session-token-expires-at-ms": str(int(time.time() + 3600) * 1000)}
            server.credentials = [{"prefix": f"s3://{bucket}/wh/", "config": {**s3.options(endpoint), **end}}]

        def files() -> set[str]:
            return {one["Key"] for one in s3.client().list_objects_v2(Bucket=bucket)["Contents"]}

        vend("first")
        with over_http(server) as uri, fb.catalog("ending", type="rest", uri=uri) as cat:
            fb.attach(spark, cat)
            try:
                frame = spark.table("ending.db.t")
                assert frame.count() == 2
                before = files()
                ended.add("first")
                for work in (frame.collect, lambda: spark.sql("INSERT INTO ending.db.t SELECT id FROM range(9)")):
                    with pytest.raises(Exception, match="that the catalog vended for it end at"):
                        work()
                assert files() == before
                vend("second")
                spark.sql("INSERT INTO ending.db.t VALUES (3)")
                assert sorted(row.id for row in spark.table("ending.db.t").collect()) == [1, 2, 3]
            finally:
                fb.detach(spark)


@dataclass
class ShortVending(ScriptedServer):
    """Vends credentials that last six seconds, new ones with every answer."""

    prefix: str = ""
    options: dict[str, str] = field(default_factory=dict)

    def handle(self, request: httpx.Request) -> httpx.Response:
        ends_ms = int(time.time() * 1000) + 6_000
        end = {"s3.session-token": f"until-{ends_ms}", "s3.session-token-expires-at-ms": str(ends_ms)}
        self.credentials = [{"prefix": self.prefix, "config": {**self.options, **end}}]
        return super().handle(request)


@pytest.mark.s3
def test_a_job_that_outlives_its_credentials_renews_them_in_the_workers(spark: Any) -> None:
    with running_s3_server() as s3, ending_s3(s3.endpoint) as (endpoint, _):
        bucket = s3.new_bucket()
        made = fb.catalog("made", warehouse=f"s3://{bucket}/wh", properties=s3.options())
        made.create_namespace("db")
        table = made.create_table("db.t", "id bigint")
        for ids in ([1, 2], [3]):
            table.append(pa.table({"id": pa.array(ids, pa.int64())}))
        server = ShortVending(namespaces={("db",): {}}, prefix=f"s3://{bucket}/wh/", options=s3.options(endpoint))
        server.put(("db", "t"), table.metadata)

        def slow(batches: Any) -> Any:
            for batch in batches:
                time.sleep(7)
                yield batch

        token = {"token": CATALOG_TOKEN}
        with over_http(server) as uri, fb.catalog("renewed", type="rest", uri=uri, properties=token) as cat:
            fb.attach(spark, cat)
            try:
                frame = spark.table("renewed.db.t")
                spark.range(4, 6, numPartitions=1).mapInArrow(slow, "id bigint").writeTo("renewed.db.t").append()
                assert sorted(row.id for row in frame.collect()) == [1, 2, 3]
                assert sorted(row.id for row in spark.table("renewed.db.t").collect()) == [1, 2, 3, 4, 5]
                shown = io.StringIO()
                with contextlib.redirect_stdout(shown):
                    frame.explain(True)
                assert CATALOG_TOKEN not in shown.getvalue() + str(spark.conf.getAll) + str(fb.explain(frame))
            finally:
                fb.detach(spark)
    assert all(one.headers["authorization"] == f"Bearer {CATALOG_TOKEN}" for one in server.requests)
