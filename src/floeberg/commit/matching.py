"""Whether a file may hold rows that match an expression, or must hold nothing else."""

from __future__ import annotations

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.expr.nodes import Expression
from floeberg.expr.projection import inclusive_projection, strict_projection
from floeberg.spec.data_file import DataFile
from floeberg.spec.metadata import TableMetadata


class FileMatcher:
    """Tests files of any spec of a table against one expression over rows."""

    def __init__(self, metadata: TableMetadata, expression: Expression, *, case_sensitive: bool = True) -> None:
        self._metadata = metadata
        self._schema = metadata.current_schema
        self._bound = bind(expression, self._schema, case_sensitive=case_sensitive)
        self._inclusive: dict[int, Expression] = {}
        self._strict: dict[int, Expression] = {}

    def may_match(self, file: DataFile) -> bool:
        """False only when no row of the file can match."""
        projected = self._inclusive.get(file.spec_id)
        if projected is None:
            projected = inclusive_projection(self._metadata.spec(file.spec_id), self._schema, self._bound)
            self._inclusive[file.spec_id] = projected
        return keeps(projected, file.partition) and may_contain_match(self._bound, file)

    def must_match(self, file: DataFile) -> bool:
        """True only when every row of the file matches."""
        projected = self._strict.get(file.spec_id)
        if projected is None:
            projected = strict_projection(self._metadata.spec(file.spec_id), self._schema, self._bound)
            self._strict[file.spec_id] = projected
        return keeps(projected, file.partition) or must_all_match(self._bound, file)
