"""Tables that we commit for others to read: every format version, partitioned, evolved, with branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import floeberg as fb
from lakes.table_data import append_rows

Row = dict[str, Any]


@dataclass
class Shared:
    """A table, the rows that its branches hold now, and those that older snapshots held."""

    table: fb.Table
    branches: dict[str, list[Row]] = field(default_factory=dict)
    snapshots: dict[int, list[Row]] = field(default_factory=dict)

    @property
    def metadata_location(self) -> str:
        assert self.table.metadata_location is not None
        return self.table.metadata_location


def append(shared: Shared, rows: list[Row], *, branch: str = "main") -> None:
    append_rows(shared.table, rows, branch=branch)
    shared.branches[branch] = [*shared.branches.get(branch, []), *rows]
    ref = shared.table.refs[branch]
    shared.snapshots[ref.snapshot_id] = list(shared.branches[branch])


def plain(cat: fb.Catalog, name: str, version: int) -> Shared:
    ddl = (
        "id bigint NOT NULL, s string, d double, b boolean, day date, ts timestamp, dec decimal(9,2), bin binary, "
        "l array<int>, m map<string, int>, st struct<x: int, y: string>"
    )
    shared = Shared(cat.create_table(name, ddl, format_version=version))
    for start in (0, 3):
        rows = [
            {
                "id": n, "s": f"row {n}", "d": n / 4, "b": n % 2 == 0, "day": date(2024, 1, 1 + n),
                "ts": datetime(2024, 1, 1 + n, 12, 30, tzinfo=UTC), "dec": Decimal(n) / 4, "bin": bytes([n, 255]),
                "l": [n, None], "m": {"k": n}, "st": {"x": n, "y": None},
            }
            for n in range(start, start + 3)
        ]  # fmt: skip
        append(shared, rows)
    append(shared, [dict.fromkeys(shared.branches["main"][0]) | {"id": 99}])
    return shared


def partitioned(cat: fb.Catalog, name: str, version: int) -> Shared:
    table = cat.create_table(
        name, "id bigint, s string, ts timestamp", partition_by=["day(ts)", "bucket(4, id)", "truncate(2, s)"],
        sort_by=["id desc"], format_version=version, properties={"write.metadata.compression-codec": "gzip"},
    )  # fmt: skip
    shared = Shared(table)
    for n in range(3):
        append(
            shared,
            [
                {"id": n, "s": f"{n}/a b%", "ts": datetime(1969, 12, 30 + n % 2, tzinfo=UTC)},
                {"id": None, "s": None, "ts": None},
            ],
        )
    return shared


def evolved(cat: fb.Catalog, name: str, version: int) -> Shared:
    table = cat.create_table(name, "id int, gone string, f float, old string", format_version=version)
    append_rows(table, [{"id": 1, "gone": "x", "f": 1.5, "old": "kept"}])
    with table.transaction() as change:
        with change.update_schema() as schema:
            schema.drop_column("gone").rename_column("old", "new").update_type("id", "bigint").update_type(
                "f", "double"
            )
            schema.add_column("added", "int").move_first("added")
        with change.update_spec() as spec:
            spec.add_field("bucket(2, id)")
        with change.update_properties() as properties:
            properties.set({"comment": "evolved"})
    shared = Shared(table, {"main": [{"added": None, "id": 1, "f": 1.5, "new": "kept"}]})
    append(shared, [{"added": 7, "id": 2**40, "f": 0.25, "new": None}])
    return shared


def branched(cat: fb.Catalog, name: str, version: int) -> Shared:
    shared = Shared(cat.create_table(name, "id int", format_version=version))
    append(shared, [{"id": 1}])
    with shared.table.manage_refs() as refs:
        refs.create_branch("audit").create_tag("v1")
    shared.branches["audit"] = shared.branches["v1"] = [{"id": 1}]
    append(shared, [{"id": 2}])
    append(shared, [{"id": 3}], branch="audit")
    with shared.table.manage_refs() as refs:
        refs.fast_forward("released", "audit")
    shared.branches["released"] = shared.branches["audit"]
    return shared


KINDS: dict[str, Callable[[fb.Catalog, str, int], Shared]] = {
    "plain": plain,
    "partitioned": partitioned,
    "evolved": evolved,
    "branched": branched,
}


def shown(rows: list[Row]) -> list[str]:
    """Rows to compare: in any order, times as instants, maps as pairs."""
    return sorted(str({key: _plain(value) for key, value in row.items()}) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC).isoformat()
    if isinstance(value, Decimal):
        return str(value.quantize(Decimal("0.01")))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    return value
