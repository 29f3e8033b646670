"""Transforms of columns as people write them: `day(ts)`, `bucket(16, id)`, `truncate(4, s)`, `col`.

The names are those of Spark's PARTITIONED BY and of the Iceberg SQL extensions; `bucket[16](id)` and
`bucket(id, 16)` are read too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField, StructType

_FUNCTIONS: Final[dict[str, Transform]] = {
    "identity": IDENTITY,
    "year": YEAR,
    "years": YEAR,
    "month": MONTH,
    "months": MONTH,
    "day": DAY,
    "days": DAY,
    "date": DAY,
    "hour": HOUR,
    "hours": HOUR,
    "date_hour": HOUR,
    "void": VOID,
}
_WIDE_FUNCTIONS: Final[dict[str, type[BucketTransform] | type[TruncateTransform]]] = {
    "bucket": BucketTransform,
    "truncate": TruncateTransform,
}

_PART: Final = r'(?:`(?:[^`]|``)+`|"(?:[^"]|"")+"|\w+)'
_COLUMN: Final = rf"{_PART}(?:\.{_PART})*"
_CALL: Final = re.compile(rf"(\w+)\s*(?:\[\s*(\d{{1,20}})\s*\])?\s*\(\s*({_COLUMN})\s*(?:,\s*({_COLUMN})\s*)?\)")
_REFERENCE: Final = re.compile(_COLUMN)
_ALIAS: Final = re.compile(rf"(.*\S)\s+as\s+({_PART})", re.IGNORECASE | re.DOTALL)
_PART_PATTERN: Final = re.compile(_PART)


@dataclass(frozen=True, slots=True)
class PartitionTerm:
    """A transform of a column, and the name of the partition field when one is given."""

    transform: Transform
    column: str
    name: str | None = None

    def __str__(self) -> str:
        match self.transform:
            case IdentityTransform():
                return self.column
            case BucketTransform(num_buckets=number):
                return f"bucket({number}, {self.column})"
            case TruncateTransform(width=number):
                return f"truncate({number}, {self.column})"
            case _:
                return f"{self.transform}({self.column})"


def parse_partition_term(text: str) -> PartitionTerm:
    """The term of `day(ts)`, `bucket(16, id)`, `truncate(4, s)`, `col`, each with `AS name` if wished.
    Raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput(f"a table is partitioned by texts such as 'day(ts)', not by {text!r:.60}")
    body, name = text.strip(), None
    if alias := _ALIAS.fullmatch(body):
        body, name = alias[1], unquote(alias[2])
    if _REFERENCE.fullmatch(body):
        return PartitionTerm(IDENTITY, unquote(body), name)
    call = _CALL.fullmatch(body)
    if call is None:
        raise InvalidInput(f"{text[:100]!r} is not a column or a transform of one, such as day(ts) or bucket(16, id)")
    function, bracketed, first, second = call[1].lower(), call[2], call[3], call[4]
    if function in _WIDE_FUNCTIONS:
        column, number = _column_and_number(bracketed, first, second, text)
        return PartitionTerm(_WIDE_FUNCTIONS[function](number), unquote(column), name)
    if function not in _FUNCTIONS or bracketed is not None or second is not None:
        known = ", ".join((*_FUNCTIONS, *_WIDE_FUNCTIONS))
        raise InvalidInput(
            f"{text[:100]!r}: the transforms are {known}; bucket and truncate take a number and a column"
        )
    return PartitionTerm(_FUNCTIONS[function], unquote(first), name)


def _column_and_number(bracketed: str | None, first: str, second: str | None, text: str) -> tuple[str, int]:
    """The reference implementation takes the number before or after the column."""
    if bracketed is not None and second is None:
        return first, int(bracketed)
    if bracketed is None and second is not None:
        if first.isascii() and first.isdigit() and len(first) <= 20:
            return second, int(first)
        if second.isascii() and second.isdigit() and len(second) <= 20:
            return first, int(second)
    raise InvalidInput(f"{text[:100]!r}: bucket and truncate take a number and a column, such as bucket(16, id)")


def unquote(column: str) -> str:
    """The dotted name of a column whose parts may be quoted with backticks or double quotes."""
    parts = (match[0] for match in _PART_PATTERN.finditer(column))
    return ".".join(p[1:-1].replace(p[0] * 2, p[0]) if p[0] in '`"' else p for p in parts)


def resolve_source(schema: Schema, column: str, transform: Transform, *, case_sensitive: bool) -> NestedField:
    """The source column of a new partition or sort field. Raises InvalidInput when there is none, it lies in a list or
    map, or the transform does not take its type."""
    source = schema.field(column, case_sensitive=case_sensitive)
    check_source(schema, source, transform)
    return source


def check_source(schema: Schema, source: NestedField, transform: Transform) -> None:
    """Raises InvalidInput when the transform cannot be applied to the column."""
    name = schema.names[source.field_id]
    if isinstance(transform, UnknownTransform):
        raise InvalidInput(f"transform {transform} is not known here, so nothing new may use it", column=name)
    if isinstance(transform, VoidTransform):
        return
    for parent_id in schema.path_to(source.field_id)[:-1]:
        if not isinstance(schema.by_id[parent_id].type, StructType):
            raise InvalidInput(f"column {name!r} lies in a list or map, which has many values a row", column=name)
    if not transform.can_transform(source.type):
        raise InvalidInput(f"transform {transform} does not take column {name!r} of type {source.type}", column=name)
