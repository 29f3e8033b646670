"""Plans of changes of rows: appends, overwrites, row deltas, rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.isolation import ReadView
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.testing.model import (
    Change,
    Condition,
    Delete,
    Insert,
    OverwriteWhere,
    Planned,
    ReplaceParts,
    Update,
    Upsert,
)
from floeberg.testing.planning import Planning, Step, files_of
from floeberg.testing.sim_reader import LiveRow
from floeberg.testing.sim_rows import (
    NewFile,
    StoredRow,
    data_file,
    deletion_vectors,
    equality_deletes,
    position_deletes,
)


def append(plan: Planning, *, merge: bool, name: str) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    operation = Append(files=files_of(new), target=plan.target(), merge=merge)
    return Step(name=name, tag=plan.tag, operations=[operation], files=new, change=Insert(rows))


def overwrite_filter(plan: Planning) -> Step:
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    rows = plan.new_rows(p=where.p)
    new = plan.inserted(rows)
    view = plan.view(where) if plan.random.random() < 0.5 else None
    operation = Overwrite(added=files_of(new), row_filter=where.expression(), view=view, target=plan.target())
    return Step(
        name="overwrite_filter", tag=plan.tag, operations=[operation], files=new, change=OverwriteWhere(where, rows)
    )


def delete_files(plan: Planning) -> Step:
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    operation = DeleteFiles(row_filter=where.expression(), target=plan.target())
    return Step(name="delete_files", tag=plan.tag, operations=[operation], change=Delete(where))


def replace_partitions(plan: Planning) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    where = Condition()
    view = plan.view(where) if plan.random.random() < 0.5 else None
    operation = ReplacePartitions(files=files_of(new), view=view, target=plan.target())
    change = ReplaceParts(rows, plan.is_partitioned)
    return Step(name="replace_partitions", tag=plan.tag, operations=[operation], files=new, change=change)


def _matched(plan: Planning, where: Condition) -> list[LiveRow]:
    return [live for live in plan.table.rows if where(live[2].row)]


def _meaning(view: ReadView, serial: Delete | Update, matched: Sequence[LiveRow]) -> Change:
    """What a change of matched rows means: in serial order that of its condition, else that of the rows it saw."""
    if view.is_serializable:
        return serial
    gone = frozenset(stored.row for _, _, stored in matched)
    new = frozenset(serial.version(row) for row in gone) if isinstance(serial, Update) else frozenset()
    return Planned(gone, new)


def _updated(plan: Planning, serial: Delete | Update, matched: Sequence[LiveRow]) -> list[StoredRow]:
    """The new versions of rows; they keep their row ids."""
    if not isinstance(serial, Update):
        return []
    ids = plan.table.row_ids()
    return [StoredRow(serial.version(stored.row), ids[stored.row]) for _, _, stored in matched]


def _serial(plan: Planning, where: Condition) -> Delete | Update:
    return Delete(where) if plan.random.random() < 0.5 else Update(where, plan.number)


def copy_on_write(plan: Planning) -> Step | None:
    where = plan.condition()
    matched = _matched(plan, where)
    if not matched:
        return None
    view, serial = plan.view(where), _serial(plan, where)
    paths = {file.file_path for file, _, _ in matched}
    ids = plan.table.row_ids()
    kept = [
        StoredRow(stored.row, ids[stored.row])
        for file, _, stored in plan.table.rows
        if file.file_path in paths and not where(stored.row)
    ]
    new = plan.data_files([*kept, *_updated(plan, serial, matched)])
    removed = [entry.data_file for entry in plan.table.data if entry.data_file.file_path in paths]
    operation = Overwrite(added=files_of(new), removed=removed, view=view, target=plan.target())
    change = _meaning(view, serial, matched)
    return Step(name="overwrite_files", tag=plan.tag, operations=[operation], files=new, change=change)


def merge_on_read(plan: Planning) -> Step | None:
    where = plan.condition()
    matched = _matched(plan, where)
    if not matched or plan.metadata.format_version == 1:
        return None
    view, serial = plan.view(where), _serial(plan, where)
    deletes, removed, referenced = _position_deletes(plan, matched)
    new = [*deletes, *plan.data_files(_updated(plan, serial, matched))]
    operation = RowDelta(
        added=files_of(new), removed_deletes=removed, referenced=referenced, view=view, target=plan.target()
    )
    change = _meaning(view, serial, matched)
    return Step(name="row_delta", tag=plan.tag, operations=[operation], files=new, change=change)


def _position_deletes(
    plan: Planning, matched: Sequence[LiveRow]
) -> tuple[list[NewFile], list[DataFile], frozenset[str]]:
    """Deletes of rows as the table's version has them, the deletes that they take in, and the data files named."""
    table = plan.table
    positions: dict[str, set[int]] = {}
    files = {file.file_path: file for file, _, _ in matched}
    for file, position, _ in matched:
        positions.setdefault(file.file_path, set()).add(position)
    if plan.metadata.format_version >= 3:
        whole = {path: held | table.deleted_positions[path] for path, held in positions.items()}
        new = deletion_vectors(plan.writer.path("puffin"), whole, files=files)
        return new, [vector for path, vector in table.vectors().items() if path in positions], frozenset()
    named = plan.random.random() < 0.5
    groups: dict[object, list[str]] = {}
    for path, file in files.items():
        groups.setdefault(path if named else (file.spec_id, file.partition), []).append(path)
    new = [
        position_deletes(
            plan.writer.path("parquet"), {path: positions[path] for path in group}, of=files[group[0]], name_file=named
        )
        for group in groups.values()
    ]
    return new, [], frozenset() if named or plan.random.random() < 0.5 else frozenset(positions)


def upsert(plan: Planning) -> Step | None:
    if plan.metadata.format_version == 1:
        return None
    rows = frozenset({(row.id, row.p): row for row in plan.new_rows()}.values())
    new = plan.inserted(rows)
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for row in sorted(rows):
        groups.setdefault(plan.partition(row), []).append((row.id, row.p))
    spec_id = plan.metadata.default_spec_id
    new += [
        equality_deletes(plan.writer.path("parquet"), keys, spec_id=spec_id, partition=partition)
        for partition, keys in groups.items()
    ]
    operation = RowDelta(added=files_of(new), target=plan.target())
    return Step(name="upsert", tag=plan.tag, operations=[operation], files=new, change=Upsert(rows))


def rewrite_files(plan: Planning) -> Step | None:
    table = plan.table
    groups: dict[object, list[DataFile]] = {}
    for entry in table.data:
        groups.setdefault((entry.data_file.spec_id, entry.data_file.partition), []).append(entry.data_file)
    if not groups or plan.head is None:
        return None
    removed = plan.random.choice(list(groups.values()))
    paths = {file.file_path for file in removed}
    ids = table.row_ids()
    kept = [StoredRow(stored.row, ids[stored.row]) for file, _, stored in table.rows if file.file_path in paths]
    new = []
    if kept:
        place = removed[0]
        new = [data_file(plan.writer.path("parquet"), sorted(kept), spec_id=place.spec_id, partition=place.partition)]
    keep_age = plan.random.random() < 0.5
    operation = RewriteFiles(
        removed=removed,
        added=files_of(new),
        starting_snapshot_id=plan.head.snapshot_id,
        data_sequence_number=plan.head.sequence_number if keep_age else None,
        target=plan.target(),
    )
    return Step(name="rewrite_files", tag=plan.tag, operations=[operation], files=new)
