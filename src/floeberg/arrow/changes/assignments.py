"""Assignments of an update: columns set to a value, or to what a function makes of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from floeberg.arrow.changes.constants import constant
from floeberg.arrow.write.conform import Conformer
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField


def assigner(
    assignments: Mapping[str, Any], schema: Schema, *, case_sensitive: bool = True
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from rows of the table to the columns that are set, fitted to the table's types.

    Values are plain Python values or pyarrow scalars; a callable is given the rows and returns an array of as many.
    Raises InvalidInput for unknown columns at once, for values that do not fit when they are made.
    """
    if not assignments:
        raise InvalidInput("an update sets at least one column")
    fields = {name: _column(schema, name, case_sensitive=case_sensitive) for name in assignments}
    if len({field.field_id for field in fields.values()}) < len(fields):
        raise InvalidInput("an update sets a column twice")
    constants = {name: constant(value, fields[name]) for name, value in assignments.items() if not callable(value)}
    target = Schema(*fields.values())

    def assign(rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for name, value in assignments.items():
            made = value(rows) if callable(value) else _repeated(constants[name], rows.num_rows)
            columns.append(_array(made, rows.num_rows, name))
        batch = pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields.values()])
        return Conformer(batch.schema, target).apply(batch)

    return assign


def _column(schema: Schema, name: str, *, case_sensitive: bool) -> NestedField:
    field = schema.field(name, case_sensitive=case_sensitive)
    if len(schema.path_to(field.field_id)) > 1:
        raise InvalidInput(f"column {name!r} lies in another one; set the whole column", column=name)
    return field


def _repeated(one: pa.Array, rows: int) -> pa.Array:
    return one.take(pa.array(np.zeros(rows, dtype=np.int64)))


def _array(made: Any, rows: int, name: str) -> pa.Array:
    if isinstance(made, pa.Scalar):
        made = _repeated(pa.array([made.as_py()], made.type), rows)
    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    if not isinstance(made, pa.Array):
        try:
            made = pa.array(made)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidInput(
                f"the function for column {name!r} gave a {type(made).__name__}, not an array: {error}", column=name
            ) from error
    if len(made) != rows:
        raise InvalidInput(f"the function for column {name!r} gave {len(made)} values for {rows} rows", column=name)
    return made
