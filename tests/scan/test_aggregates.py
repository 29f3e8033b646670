"""Aggregates come from metadata only where they are exact."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

from msgspec import structs

from floeberg.api.table import Table
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.scan.aggregates import ScanAggregates
from floeberg.commit.append import Append
from floeberg.expr.build import col
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from lakes.scan_tables import add_deletes, data_file, deletion_vector, equality_delete, new_table, position_delete


def ask(table: Table, *aggregates: str, where: Expression = TRUE) -> tuple[object, ...] | None:
    wanted = ScanAggregates.of(aggregates, (), table.schema, case_sensitive=True)
    plan = plan_files(
        table.metadata,
        choose_snapshot(table.metadata),
        store_for=table._pointer.store_for,
        where=where,
        keep_metrics_of=wanted.asked.field_ids,
    )
    found = wanted.from_metadata(plan)
    if found is None:
        return None
    return tuple(
        physical_values(column.combine_chunks(), kind)[0]
        for column, kind in zip(found.columns, wanted._types(), strict=True)
    )


def with_counts(file: DataFile, field_id: int, *, nulls: int = 0, nans: int | None = None) -> DataFile:
    return structs.replace(
        file,
        value_counts={**(file.value_counts or {}), field_id: file.record_count},
        null_value_counts={**(file.null_value_counts or {}), field_id: nulls},
        nan_value_counts=None if nans is None else {field_id: nans},
    )


def test_rows_are_counted_and_extremes_taken_over_all_files() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "a", id=(3, 9)), data_file(table, "b", id=(5, 12), rows=4)]))
    assert ask(table, "count(*)", "min(id)", "max(id)", "count(id)") == (
        14,
        3,
        12,
        14,
    )
    assert ask(new_table(), "count(*)", "max(id)") == (0, None)


def test_nulls_are_not_counted_and_have_no_part_in_extremes() -> None:
    table = new_table()
    files = [with_counts(data_file(table, "a", id=(3, 9)), 1, nulls=4), with_counts(data_file(table, "n"), 1, nulls=10)]
    table._commit(Append(files=files))
    assert ask(table, "count(id)", "min(id)") == (6, 3)


def test_deletion_vectors_are_subtracted_and_other_deletes_make_counts_unknown() -> None:
    table = new_table(format_version=3)
    one = data_file(table, "one", id=(1, 9))
    table._commit(Append(files=[one]))
    add_deletes(table, deletion_vector(table, "dv", one, rows=3))
    assert ask(table, "count(*)") == (7,)
    assert ask(table, "min(id)") is None
    assert ask(table, "count(id)") is None
    add_deletes(table, equality_delete(table, "e", "id", id=(4, 4)))
    assert ask(table, "count(*)") is None
    older = new_table()
    two = data_file(older, "two", id=(1, 9))
    older._commit(Append(files=[two]))
    add_deletes(older, position_delete(older, "p", two))
    assert ask(older, "count(*)") is None


def test_a_filter_is_exact_only_where_partitions_prove_it() -> None:
    table = new_table(partition_by=["day"])
    files = [data_file(table, f"d{day}", partition=(day,), id=(day, day + 1), day=(day, day)) for day in (1, 2, 3)]
    table._commit(Append(files=files))
    assert ask(table, "count(*)", where=col("day") >= date(1970, 1, 3)) == (20,)
    assert ask(table, "max(id)", where=col("day") == date(1970, 1, 2)) == (2,)
    assert ask(table, "count(*)", where=col("id") > 2) is None


def test_truncated_or_missing_bounds_give_no_extremes() -> None:
    table = new_table()
    table._commit(
        Append(files=[data_file(table, "a", data=("a", "b"), id=(1, 2)), data_file(table, "b", data=("a", "b"))])
    )
    assert ask(table, "min(data)") is None
    assert ask(table, "min(id)") is None
    assert ask(table, "count(id)") is None
    assert ask(table, "count(data)") == (20,)


def test_nan_is_the_greatest_and_unknown_counts_of_it_prove_nothing() -> None:
    table = new_table()
    known = with_counts(data_file(table, "a", price=(1.5, 2.5)), 3, nans=0)
    table._commit(Append(files=[known]))
    assert ask(table, "min(price)", "max(price)") == (1.5, 2.5)
    table._commit(Append(files=[with_counts(data_file(table, "b", price=(0.5, 0.5)), 3, nans=2)]))
    found = ask(table, "min(price)", "max(price)")
    assert found is not None
    assert found[0] == 0.5
    assert math.isnan(float(str(found[1])))
    table._commit(Append(files=[data_file(table, "c", price=(0.5, 0.5))]))
    assert ask(table, "max(price)") is None


def test_a_zero_of_unknown_sign_and_timestamps_of_orc_files_are_not_exact() -> None:
    table = new_table()
    table._commit(Append(files=[with_counts(data_file(table, "a", price=(-0.0, 2.5)), 3, nans=0)]))
    assert ask(table, "min(price)") is None
    assert ask(table, "max(price)") == (2.5,)
    stamps = new_table(schema="ts timestamp_ntz, amount decimal(9,2), flag boolean")
    file = data_file(stamps, "a", ts=(5, 6), amount=(Decimal("1.50"), Decimal("2.50")), flag=(False, True))
    stamps._commit(Append(files=[file]))
    assert ask(stamps, "min(ts)", "max(amount)", "max(flag)") == (
        5,
        Decimal("2.50"),
        True,
    )
    stamps._commit(Append(files=[structs.replace(file, file_path="memory://w/o.orc", file_format=FileFormat.ORC)]))
    assert ask(stamps, "min(ts)") is None
    assert ask(stamps, "max(amount)") == (Decimal("2.50"),)
