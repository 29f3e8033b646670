"""Tables on local files that are damaged on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

import floeberg as fb
from floeberg.api.table import Table
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.table_changes import ChangeStatistics
from floeberg.files.manifest import read_manifest, write_manifest
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.maintenance.check_report import Problem
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestEntry, ManifestFile
from floeberg.spec.snapshots.statistics import PartitionStatisticsFile, StatisticsFile
from floeberg.spec.values.single_value import to_bytes
from floeberg.testing.table_builder import TableBuilder

Change = Callable[[ManifestEntry], Iterable[ManifestEntry]]


def damage_entries(
    table: Table,
    change: Change,
    *,
    content: ManifestContent = ManifestContent.DATA,
    listed: Callable[[ManifestFile], ManifestFile] = lambda manifest: manifest,
) -> None:
    """Rewrites the manifests of the newest snapshot: each entry becomes those that `change` gives."""
    metadata = table.metadata
    snapshot = metadata.current_snapshot
    assert snapshot is not None
    assert snapshot.manifest_list is not None
    path = Path(snapshot.manifest_list)
    manifests = []
    for manifest in read_manifest_list(path.read_bytes()):
        if manifest.content is not content:
            manifests.append(manifest)
            continue
        own = Path(manifest.manifest_path)
        kind = partition_type_of(metadata, manifest.partition_spec_id)
        entries = read_manifest(own.read_bytes(), manifest, partition_type=kind)
        written = write_manifest(
            [changed for entry in entries for changed in change(entry)],
            spec=metadata.spec(manifest.partition_spec_id),
            schema=metadata.current_schema,
            format_version=metadata.format_version,
            content=manifest.content,
            snapshot_id=manifest.added_snapshot_id or snapshot.snapshot_id,
            partition_type=kind,
        )
        moved = own.with_name(f"damaged-{own.name}")
        moved.write_bytes(written.data)
        counted = written.to_manifest_file(str(moved))
        manifests.append(
            listed(
                replace(
                    counted,
                    sequence_number=manifest.sequence_number,
                    min_sequence_number=manifest.min_sequence_number,
                    added_snapshot_id=manifest.added_snapshot_id,
                    first_row_id=manifest.first_row_id,
                )
            )
        )
    path.write_bytes(
        write_manifest_list(
            manifests,
            format_version=metadata.format_version,
            snapshot_id=snapshot.snapshot_id,
            parent_snapshot_id=snapshot.parent_snapshot_id,
            sequence_number=snapshot.sequence_number,
            first_row_id=snapshot.first_row_id,
        )
    )


ALL = [(1, 0), (3, 0), (4, 0), (5, 1), (6, 1)]
"""The rows of a whole table: 2 is deleted."""


def table_to_damage(lake: fb.Catalog, version: int, name: str = "db.t") -> TableBuilder:
    """A table of `ALL`, with a merge-on-read delete."""
    builder = TableBuilder(
        "id bigint, p int",
        partition_by=["p"],
        format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
        in_catalog=lake,
        name=name,
    )
    return builder.append((1, 0), (2, 0), (3, 0)).append((4, 0)).append((5, 1), (6, 1)).delete("id = 2")


def data_path(builder: TableBuilder, rows: int) -> Path:
    (found,) = [file.file_path for file in builder.data() if file.record_count == rows]
    return Path(found)


def missing_data(builder: TableBuilder) -> None:
    data_path(builder, 2).unlink()


def truncated_data(builder: TableBuilder) -> None:
    path = data_path(builder, 2)
    path.write_bytes(path.read_bytes()[:100])


def missing_data_with_deletes(builder: TableBuilder) -> None:
    data_path(builder, 3).unlink()


def damaged_page(builder: TableBuilder) -> None:
    path = data_path(builder, 2)
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(bytes(data))


def duplicate_data(builder: TableBuilder) -> None:
    damage_entries(builder.table, lambda entry: [entry] * (2 if entry.data_file.record_count == 2 else 1))


def wrong_metrics(builder: TableBuilder) -> None:
    kind = builder.table.schema.field("id").type

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        file = entry.data_file
        if file.record_count != 2:
            return [entry]
        bounds = {**(file.lower_bounds or {}), 1: to_bytes(kind, 90)}
        changed = structs.replace(file, record_count=7, lower_bounds=bounds, upper_bounds=bounds)
        return [structs.replace(entry, data_file=changed)]

    damage_entries(builder.table, change)


def wrong_list(builder: TableBuilder) -> None:
    damage_entries(builder.table, lambda entry: [entry], listed=lambda m: replace(m, added_files_count=40))


def missing_deletes(builder: TableBuilder) -> None:
    (entry,) = builder.live(ManifestContent.DELETES)
    Path(entry.data_file.file_path).unlink()


def dangling_deletes(builder: TableBuilder) -> None:
    gone = builder.data_file((50, 0), (51, 0))
    builder.table._commit(RowDelta(added=[gone]))
    builder.table._commit(RowDelta(added=[builder.deletes(gone, 0)], view=builder.view()))
    damage_entries(builder.table, lambda entry: [] if entry.data_file.file_path == gone.file_path else [entry])


def bad_deletes(builder: TableBuilder) -> None:
    file = next(file for file in builder.data() if file.record_count == 2)
    wrong = builder.deletes(file, 70)
    builder.table._commit(RowDelta(added=[wrong], view=builder.view()))


def clashing_row_ids(builder: TableBuilder) -> None:
    first = min(file.first_row_id or 0 for file in builder.data())
    damage_entries(
        builder.table,
        lambda entry: [structs.replace(entry, data_file=structs.replace(entry.data_file, first_row_id=first))],
    )


def orphaned_statistics(builder: TableBuilder) -> None:
    snapshot = builder.table.metadata.current_snapshot
    assert snapshot is not None
    gone = StatisticsFile(
        snapshot_id=snapshot.snapshot_id,
        statistics_path=f"{builder.table.metadata.location}/metadata/gone.stats",
        file_size_in_bytes=10,
        file_footer_size_in_bytes=4,
    )
    parts = PartitionStatisticsFile(
        snapshot_id=snapshot.snapshot_id,
        statistics_path=f"{builder.table.metadata.location}/metadata/gone.parquet",
        file_size_in_bytes=10,
    )
    builder.table._commit(ChangeStatistics(set=[gone], set_partition=[parts]))


def missing_manifest(builder: TableBuilder) -> None:
    """Of the newest snapshot alone."""
    snapshot = builder.table.metadata.current_snapshot
    assert snapshot is not None
    (own,) = [entry for entry in builder.table.inspect.manifests().to_pylist() if entry["added_snapshot_id"] ==
              snapshot.snapshot_id]  # fmt: skip
    Path(own["path"]).unlink()


@dataclass(frozen=True)
class Damage:
    make: Callable[[TableBuilder], None]
    problem: Problem
    action: str
    rows: list[tuple[int, ...]]
    versions: tuple[int, ...] = (2, 3)
    asks: dict[str, Any] | None = None


DAMAGES = [
    Damage(missing_data, Problem.MISSING_FILE, "drop-data", [(1, 0), (3, 0), (4, 0)]),
    Damage(truncated_data, Problem.UNREADABLE, "drop-data", [(1, 0), (3, 0), (4, 0)]),
    Damage(missing_data_with_deletes, Problem.MISSING_FILE, "drop-data", [(4, 0), (5, 1), (6, 1)]),
    Damage(damaged_page, Problem.UNREADABLE, "drop-data", [(1, 0), (3, 0), (4, 0)], asks={"read_rows": True}),
    Damage(duplicate_data, Problem.DUPLICATE_FILE, "drop-duplicates", ALL),
    Damage(wrong_metrics, Problem.WRONG_BOUNDS, "recompute-metrics", ALL),
    Damage(wrong_metrics, Problem.WRONG_COUNT, "recompute-metrics", ALL),
    Damage(wrong_list, Problem.WRONG_COUNT, "recompute-metrics", ALL),
    Damage(missing_deletes, Problem.MISSING_FILE, "drop-deletes", [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1)]),
    Damage(dangling_deletes, Problem.DANGLING_DELETE, "drop-deletes", ALL),
    Damage(bad_deletes, Problem.BAD_DELETE, "drop-deletes", ALL),
    Damage(clashing_row_ids, Problem.DUPLICATE_ROW_IDS, "renumber-rows", ALL, versions=(3,)),
    Damage(missing_manifest, Problem.MISSING_FILE, "restore", [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1)]),
    Damage(missing_data, Problem.MISSING_FILE, "restore", [(1, 0), (2, 0), (3, 0), (4, 0)]),
    Damage(orphaned_statistics, Problem.MISSING_FILE, "drop-statistics", ALL),
]
CASES = [(damage, version) for damage in DAMAGES for version in damage.versions]
