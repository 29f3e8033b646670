"""Variant columns that a caller gives: checked before they are written, because no reader could read them otherwise."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.variant.decode import assemble_variants
from floeberg.errors import DataFileCorrupt, InvalidInput

_PARTS = ({"metadata", "value"}, {"metadata", "value", "typed_value"}, {"metadata", "typed_value"})
_LEAST_METADATA_BYTES = 3


def given_variants(array: pa.StructArray, *, column: str) -> pa.Array:
    """Variants as struct<metadata, value>, from such a struct in any order, shredded or not. Raises InvalidInput."""
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    if set(names) not in _PARTS or len(names) != len(set(names)):
        raise InvalidInput(
            f"column {column!r} is {array.type} in the data, and a variant is struct<metadata: binary, value: binary>; "
            "floeberg.variant_array makes variants of Python values",
            column=column,
        )
    checked = ("metadata",) if "typed_value" in names else ("metadata", "value")
    for name in checked:
        missing = pc.and_(array.is_valid(), array.field(names.index(name)).is_null())
        if pc.any(missing).as_py():
            raise InvalidInput(
                f"column {column!r}: a variant has no {name}; a missing variant is a null struct, and JSON's null is the "
                "value 0x00",
                column=column,
            )
    try:
        variants = assemble_variants(array, location="input", column=column)
    except (DataFileCorrupt, pa.ArrowException) as error:
        raise InvalidInput(f"column {column!r} holds bytes that are no variant: {error}", column=column) from error
    _check_headers(variants, column)
    return variants


def _check_headers(variants: pa.StructArray, column: str) -> None:
    there = variants.drop_null() if variants.null_count else variants
    known = pc.unique(there.field(0)).to_pylist()
    shortest = pc.min(pc.binary_length(there.field(1))).as_py()
    if shortest == 0 or any(len(one) < _LEAST_METADATA_BYTES or one[0] & 0x0F != 1 for one in known):
        raise InvalidInput(
            f"column {column!r} holds bytes that are no variant of version 1; floeberg.variant_array makes variants of "
            "Python values",
            column=column,
        )
