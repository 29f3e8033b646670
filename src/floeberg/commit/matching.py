"""Whether a file may hold rows that match an expression, or only such rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import structs

from floeberg.commit.partitions import PartitionKey, partition_key
from floeberg.expr.bind import bind
from floeberg.expr.manifest_eval import summaries_may_match
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.expr.nodes import Expression
from floeberg.expr.projection import inclusive_projection
from floeberg.expr.residual import Residuals
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestFile

V = TypeVar("V")


class FileMatcher:
    """Tests files of any spec of a table against one row expression: first by their partition, then the residual by their
    metrics. A delete file stands for the rows that it deletes."""

    def __init__(self, metadata: TableMetadata, expression: Expression, *, case_sensitive: bool = True) -> None:
        self._metadata = metadata
        self._schema = metadata.current_schema
        self._bound = bind(expression, self._schema, case_sensitive=case_sensitive)
        self._residuals: dict[int, Residuals] = {}
        self._by_partition: dict[PartitionKey, Expression] = {}
        self._inclusive: dict[int, Expression] = {}

    def may_match(self, file: DataFile) -> bool:
        """False only when no row of the file can match."""
        return may_contain_match(self._residual(file), _as_deleted_rows(file))

    def must_match(self, file: DataFile) -> bool:
        """True only when every row of the file matches."""
        return must_all_match(self._residual(file), _as_deleted_rows(file))

    def may_be_in(self, manifest: ManifestFile) -> bool:
        """False only when the partition summaries prove that no file of the manifest can match."""
        spec_id = manifest.partition_spec_id
        projected = self._inclusive.get(spec_id)
        if projected is None:
            projected = inclusive_projection(self._metadata.spec(spec_id), self._schema, self._bound)
            self._inclusive[spec_id] = projected
        return summaries_may_match(projected, manifest.partitions)

    def _residual(self, file: DataFile) -> Expression:
        key = partition_key(file)
        found = self._by_partition.get(key)
        if found is None:
            residuals = self._residuals.get(file.spec_id)
            if residuals is None:
                residuals = Residuals(self._metadata.spec(file.spec_id), self._schema, self._bound)
                self._residuals[file.spec_id] = residuals
            found = self._by_partition[key] = residuals.of_partition(file.partition)
        return found


def _as_deleted_rows(file: DataFile) -> DataFile:
    """Equality deletes without the metrics of columns that are not equality fields: those columns do not decide which rows
    are deleted."""
    if file.content is not FileContent.EQUALITY_DELETES:
        return file
    keys = frozenset(file.equality_ids or ())
    return structs.replace(
        file,
        value_counts=_only(keys, file.value_counts),
        null_value_counts=_only(keys, file.null_value_counts),
        nan_value_counts=_only(keys, file.nan_value_counts),
        lower_bounds=_only(keys, file.lower_bounds),
        upper_bounds=_only(keys, file.upper_bounds),
    )


def _only(keys: frozenset[int], metrics: Mapping[int, V] | None) -> dict[int, V] | None:
    return None if metrics is None else {key: value for key, value in metrics.items() if key in keys}
