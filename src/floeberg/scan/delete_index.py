"""Which delete files apply to which data files: https://iceberg.apache.org/spec/#scan-planning

- a deletion vector to the data file it names, and then no position delete file does;
- a position delete file to data files of its partition whose data sequence number is at or below its own, or to the one that
  it names, if it holds positions of no other;
- an equality delete file to data files of its spec and partition with a lower data sequence number than its own, or to all
  data files with a lower sequence number when its spec is unpartitioned.

Partition means the spec and all values. Files and deletes are joined by partition and path, columns at once, and the
pairs that metrics prove to be without effect are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from floeberg.errors import InvalidInput, ManifestCorrupt
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import BoundReference
from floeberg.files.metric_columns import metric_name, metric_names
from floeberg.scan.known_columns import known_columns
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.scan.partition_codes import CODE, PartitionCodes
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileContent, FileFormat

PATH_ID: Final = DELETE_FILE_PATH.field_id
PAIRS_AT_ONCE: Final = 2_000_000
"""How many pairs of a file and a delete may be looked at at a time: bounds the memory of a plan."""

_LOWER_PATH, _UPPER_PATH = metric_name("lower_bounds", PATH_ID), metric_name("upper_bounds", PATH_ID)


class DeleteIndex:
    """The live delete files of a snapshot, each known by its number: its row in the `deletes` frames, joined.

    The frames have the metric columns of `metrics_of(…)`. `schemas` are the scan's and then the table's others, to find
    the types of equality columns. `ignore_scheme` is for tables whose position deletes hold paths of another form than
    the manifests: then no delete is left out, or assigned, by its paths. Raises ManifestCorrupt for a deletion vector
    that names no data file, and for two that name one.
    """

    def __init__(
        self, deletes: Sequence[FilesOfSpec], schemas: Sequence[Schema], *, ignore_scheme: bool = False
    ) -> None:
        self._codes = PartitionCodes(deletes)
        self._schemas = schemas
        self._by_path = not ignore_scheme
        frames = [_prepared(part, self._codes) for part in deletes]
        known = pl.concat(frames).with_row_index("delete") if frames else pl.DataFrame()
        self.count = known.height
        if not self.count:
            return
        known = known.filter(pl.col("record_count") > 0)
        self._vectors = _checked_vectors(known.filter(pl.col("is_vector")))
        positions = known.filter((pl.col("content") == FileContent.POSITION_DELETES) & ~pl.col("is_vector"))
        if not self._by_path:
            positions = positions.with_columns(target=pl.lit(None, dtype=pl.Binary))
        self._path_positions = positions.filter(pl.col("target").is_not_null())
        self._positions = positions.filter(pl.col("target").is_null())
        self._equality = known.filter(pl.col("content") == FileContent.EQUALITY_DELETES)
        if self._equality.get_column("equality_ids").list.len().fill_null(0).eq(0).any():
            raise ManifestCorrupt("an equality delete file has no equality_ids")

    @property
    def equality_ids(self) -> frozenset[int]:
        """The columns whose metrics tell equality deletes and data files apart."""
        if not self.count:
            return frozenset()
        return frozenset(self._equality.get_column("equality_ids").explode().drop_nulls().to_list())

    def match(self, parts: Sequence[FilesOfSpec]) -> list[pl.Series]:
        """For each frame of data files, that have the metric columns of `equality_ids`, the numbers of the deletes that
        apply to each file, in order."""
        heights = [part.frame.height for part in parts]
        if not self.count or not sum(heights):
            return [_no_deletes(height) for height in heights]
        columns = [
            "sequence_number", pl.col("file_path").cast(pl.Binary), "record_count", *metric_names(self.equality_ids),
        ]  # fmt: skip
        files = pl.concat(
            [part.frame.select(columns).with_columns(self._codes.of(part)) for part in parts]
        ).with_row_index("file")
        pairs = pl.concat([self._vector_pairs(files), *self._position_pairs(files), *self._equality_pairs(files)])
        lists = _as_lists(pairs, files.height)
        starts = np.cumsum([0, *heights])
        return [lists[int(start) : int(start) + height] for start, height in zip(starts, heights, strict=False)]

    def _vector_pairs(self, files: pl.DataFrame) -> pl.DataFrame:
        pairs = _named(files, self._vectors)
        early = pairs.filter(pl.col("delete_sequence_number") < pl.col("sequence_number"))
        if early.height:
            raise ManifestCorrupt(f"the deletion vector of {_path(early)} is older than that data file")
        return pairs.select("file", "delete")

    def _position_pairs(self, files: pl.DataFrame) -> Iterator[pl.DataFrame]:
        if self._path_positions.is_empty() and self._positions.is_empty():
            return
        without = files.join(self._vectors, left_on="file_path", right_on="target", how="anti")
        not_newer = pl.col("sequence_number") <= pl.col("delete_sequence_number")
        yield _named(without, self._path_positions).filter(not_newer).select("file", "delete")
        within = pl.lit(True)
        if self._by_path:
            path = pl.col("file_path")
            within = (pl.col(_LOWER_PATH) <= path).fill_null(True) & (pl.col(_UPPER_PATH) >= path).fill_null(True)
        deletes = self._positions.select("delete", "delete_sequence_number", CODE, _LOWER_PATH, _UPPER_PATH)
        slim = without.select("file", "sequence_number", "file_path", CODE)
        yield from _joined(slim, deletes, not_newer & within, everywhere=False)

    def _equality_pairs(self, files: pl.DataFrame) -> Iterator[pl.DataFrame]:
        older = pl.col("sequence_number") < pl.col("delete_sequence_number")
        for group in self._equality.partition_by("equality_ids", "is_global", maintain_order=True):
            ids, is_global = group.select("equality_ids", "is_global").row(0)
            references = [found for field_id in sorted(set(ids)) if (found := self._reference(field_id)) is not None]
            of_files = files.select("file", "sequence_number", CODE).hstack(_ranges(files, references, "file"))
            of_deletes = group.select("delete", "delete_sequence_number", CODE).hstack(
                _ranges(group, references, "delete")
            )
            condition = pl.all_horizontal(older, *(_may_match(reference.field_id) for reference in references))
            yield from _joined(of_files, of_deletes, condition, everywhere=bool(is_global))

    def _reference(self, field_id: int) -> BoundReference | None:
        """The column of an id; None when no bounds can be trusted to speak of it."""
        schema = next((schema for schema in self._schemas if field_id in schema.by_id), None)
        if schema is None or schema.by_id[field_id].type.is_nested:
            return None
        try:
            return bind_reference(schema.names[field_id], schema)
        except InvalidInput:  # in a list or map
            return None


def _prepared(part: FilesOfSpec, codes: PartitionCodes) -> pl.DataFrame:
    """What matching asks of delete files, whatever their spec. `target` is the one data file they are for."""
    lower, upper = pl.col(_LOWER_PATH), pl.col(_UPPER_PATH)
    is_position = pl.col("content") == FileContent.POSITION_DELETES
    is_vector = is_position & (pl.col("file_format") == FileFormat.PUFFIN)
    named = pl.col("referenced_data_file").cast(pl.Binary)
    only = pl.when(is_position & ~is_vector & (lower == upper).fill_null(False)).then(lower)
    return part.frame.select(
        pl.col("sequence_number").alias("delete_sequence_number"),
        pl.col("content"),
        pl.col("record_count"),
        pl.col("equality_ids"),
        is_vector.alias("is_vector"),
        pl.coalesce(named, only).alias("target"),
        pl.lit(part.spec.is_unpartitioned).alias("is_global"),
        *(pl.col(name) for name in part.frame.columns if "." in name),
    ).with_columns(codes.of(part))


def _checked_vectors(vectors: pl.DataFrame) -> pl.DataFrame:
    if vectors.get_column("target").null_count():
        raise ManifestCorrupt("a deletion vector does not name its data file (referenced_data_file)")
    twice = vectors.filter(pl.col("target").is_duplicated())
    if twice.height:
        path = _path(twice.rename({"target": "file_path"}))
        raise ManifestCorrupt(f"{path} has more than one deletion vector; there may be one at most", file=path)
    return vectors


def _path(frame: pl.DataFrame) -> str:
    return str(frame.get_column("file_path")[0].decode("utf-8", "replace"))


def _named(files: pl.DataFrame, deletes: pl.DataFrame) -> pl.DataFrame:
    """Files and the deletes that name them. Raises ManifestCorrupt when they are of different partitions."""
    own = deletes.select("delete", "delete_sequence_number", "target", pl.col(CODE).alias("delete_code"))
    slim = files.select("file", "sequence_number", "file_path", CODE)
    pairs = slim.join(own, left_on="file_path", right_on="target", how="inner")
    stray = pairs.filter(~pl.col(CODE).eq_missing(pl.col("delete_code")))
    if stray.height:
        raise ManifestCorrupt(
            f"deletes that name {_path(stray)} have another partition spec or partition than that data file",
            file=_path(stray),
        )
    return pairs


def _ranges(frame: pl.DataFrame, references: Sequence[BoundReference], side: str) -> pl.DataFrame:
    """What values of some columns files may hold: nulls, NaN, others, and between what."""
    columns: list[pl.Series] = []
    for reference in references:
        known = known_columns(reference, frame)
        unknown = pl.Series([None], dtype=pl.Int64).new_from_index(0, frame.height)
        for name, values in (
            ("null", ~known.no_nulls),
            ("nan", ~known.no_nans),
            ("value", ~known.no_value),
            ("lower", unknown if known.lower is None else known.lower),
            ("upper", unknown if known.upper is None else known.upper),
        ):
            columns.append(values.alias(f"{side}.{name}.{reference.field_id}"))
    return pl.DataFrame(columns)


def _may_match(field_id: int) -> pl.Expr:
    """Whether a file and a delete may hold an equal value of a column, null being equal to null."""

    def both(what: str) -> pl.Expr:
        return pl.col(f"file.{what}.{field_id}") & pl.col(f"delete.{what}.{field_id}")

    overlap = (pl.col(f"file.lower.{field_id}") <= pl.col(f"delete.upper.{field_id}")).fill_null(True) & (
        pl.col(f"delete.lower.{field_id}") <= pl.col(f"file.upper.{field_id}")
    ).fill_null(True)
    return both("null") | both("nan") | (both("value") & overlap)


def _joined(
    files: pl.DataFrame, deletes: pl.DataFrame, condition: pl.Expr, *, everywhere: bool
) -> Iterator[pl.DataFrame]:
    """The pairs of one partition (or of all, `everywhere`) that meet a condition, some deletes at a time."""
    if everywhere:
        weighed = deletes.drop(CODE).with_columns(pl.lit(files.height, dtype=pl.Int64).alias("weight"))
    else:
        sizes = files.group_by(CODE).agg(pl.len().cast(pl.Int64).alias("weight"))
        weighed = deletes.join(sizes, on=CODE, how="inner")
    weighed = weighed.sort("delete_sequence_number", "delete")
    chunks = weighed.with_columns((pl.col("weight").cum_sum() // PAIRS_AT_ONCE).alias("chunk")).drop("weight")
    for chunk in chunks.partition_by("chunk", maintain_order=True, include_key=False):
        old = files.filter(pl.col("sequence_number") <= chunk.get_column("delete_sequence_number").max())
        pairs = old.join(chunk, how="cross") if everywhere else old.join(chunk, on=CODE, how="inner")
        yield pairs.filter(condition).select("file", "delete")


def _no_deletes(height: int) -> pl.Series:
    return pl.Series("deletes", [[]], dtype=pl.List(pl.UInt32)).new_from_index(0, height)


def _as_lists(pairs: pl.DataFrame, height: int) -> pl.Series:
    """For each file the numbers of its deletes."""
    if pairs.is_empty():
        return _no_deletes(height)
    lists = pairs.sort("file", "delete").group_by("file", maintain_order=True).agg(pl.col("delete").alias("deletes"))
    files = pl.DataFrame({"file": np.arange(height, dtype=np.uint32)})
    found = files.join(lists, on="file", how="left", maintain_order="left").get_column("deletes")
    return found.fill_null(pl.Series([[]], dtype=found.dtype))
