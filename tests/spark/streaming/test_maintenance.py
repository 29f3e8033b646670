"""Maintenance after every so many commits of a stream."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import InvalidInput


def test_a_sink_maintains_its_table_after_every_so_many_epochs(session: Any, stream: Any, table: Any) -> None:
    session.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('maintain.min-small-files' = '3')")
    for number in range(4):
        stream.ids(number)
    stream.writer().option("maintain-every", 3).toTable("lake.db.t").awaitTermination()
    operations = [snapshot.operation for snapshot in table.refresh().snapshots]
    assert operations == ["append", "append", "append", "replace", "append"]
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == [0, 1, 2, 3]


def test_a_failure_of_maintenance_does_not_fail_the_stream(
    session: Any, stream: Any, table: Any, is_connect: bool, caplog: pytest.LogCaptureFixture
) -> None:
    session.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('maintain.delete-ratio' = '7')")
    stream.ids(1)
    with caplog.at_level(logging.WARNING, "floeberg.maintenance"):
        stream.writer().option("maintain-every", 1).toTable("lake.db.t").awaitTermination()
    assert table.refresh().scan().count() == 1
    assert "maintenance after epoch 0 failed" in caplog.text or is_connect
    with pytest.raises(InvalidInput, match="maintain-every is a number of commits"):
        stream.writer().option("maintain-every", "often").toTable("lake.db.t")


def test_change_events_are_maintained_too(session: Any, stream: Any, table: Any, is_connect: bool) -> None:
    if is_connect:
        pytest.skip("over Connect foreachBatch runs in the server, where the session is not attached")
    for number in range(2):
        stream.add(json.dumps({"op": "U", "ord": number, "id": 1, "p": number}))
    events = session.readStream.schema("op string, ord bigint, id bigint, p int").option("maxFilesPerTrigger", 1)
    asked: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord", "upsert": True, "maintain_every": 2}
    writer = fb.cdc(events.json(str(stream.files)), "lake.db.t", checkpoint=stream.checkpoint, **asked)
    writer.trigger(availableNow=True).start().awaitTermination()
    assert "replace" in [snapshot.operation for snapshot in table.refresh().snapshots]
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "p": 1}]
    assert 2 not in table.inspect.delete_files().column("content").to_pylist()  # equality deletes were converted
    with pytest.raises(InvalidInput, match="maintain_every is for streams"):
        fb.cdc(session.range(1), "lake.db.t", keys="id", op="op", maintain_every=2)
