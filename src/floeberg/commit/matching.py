"""Whether a file may hold rows that match an expression, or must hold nothing else."""

from __future__ import annotations

from collections.abc import Callable

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import partition_evaluator
from floeberg.expr.metrics_eval import InclusiveMetricsEvaluator, StrictMetricsEvaluator
from floeberg.expr.nodes import Expression
from floeberg.expr.projection import inclusive_projection, strict_projection
from floeberg.spec.data_file import DataFile
from floeberg.spec.metadata import TableMetadata

PartitionTest = Callable[[tuple[object, ...]], bool]


class FileMatcher:
    """Tests files of any spec of a table against one expression over rows."""

    def __init__(self, metadata: TableMetadata, expression: Expression, *, case_sensitive: bool = True) -> None:
        self._metadata = metadata
        self._schema = metadata.current_schema
        self._case_sensitive = case_sensitive
        self._bound = bind(expression, self._schema, case_sensitive=case_sensitive)
        self._inclusive_metrics = InclusiveMetricsEvaluator(self._bound)
        self._strict_metrics = StrictMetricsEvaluator(self._bound)
        self._inclusive_partition: dict[int, PartitionTest] = {}
        self._strict_partition: dict[int, PartitionTest] = {}

    def may_match(self, file: DataFile) -> bool:
        """False only when no row of the file can match."""
        test = self._inclusive_partition.get(file.spec_id)
        if test is None:
            spec = self._metadata.spec(file.spec_id)
            test = partition_evaluator(inclusive_projection(spec, self._schema, self._bound), spec, self._schema)
            self._inclusive_partition[file.spec_id] = test
        return test(file.partition) and self._inclusive_metrics(file)

    def must_match(self, file: DataFile) -> bool:
        """True only when every row of the file matches."""
        test = self._strict_partition.get(file.spec_id)
        if test is None:
            spec = self._metadata.spec(file.spec_id)
            test = partition_evaluator(strict_projection(spec, self._schema, self._bound), spec, self._schema)
            self._strict_partition[file.spec_id] = test
        return test(file.partition) or self._strict_metrics(file)
