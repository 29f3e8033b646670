"""Terms and literals in the JSON forms of expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from floeberg.errors import FormatError, InvalidInput
from floeberg.expr.literals import Literal, literal_from_physical, to_literal
from floeberg.expr.nodes import BoundReference, BoundTransform, Reference, Term, TransformTerm
from floeberg.spec.partitions.transforms import Transform, UnknownTransform, parse_transform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DoubleType, FloatType, primitive_from_string
from floeberg.spec.values.single_value import from_json as value_from_json

_FUNCTIONS: Final = ("identity", "year", "month", "day", "hour")
_SIZED_FUNCTIONS: Final = ("bucket", "truncate")


def required(node: object, name: str) -> Any:
    """A member of a JSON object. Raises InvalidInput."""
    if not isinstance(node, Mapping):
        raise InvalidInput(f"a JSON object with `{name}` is expected, not {node!r:.60}")
    if name not in node:
        raise InvalidInput(f"`{name}` is missing from {str(dict(node))[:80]}")
    return node[name]


def term_json(term: Term | BoundReference | BoundTransform, *, typed: bool) -> object:
    """The JSON of a column or a transform of one; in the typed form, a bound column is named by its id."""
    if isinstance(term, (Reference, BoundReference)):
        if not typed:
            return term.name
        return {
            "type": "reference",
            **({"id": term.field_id} if isinstance(term, BoundReference) else {"name": term.name}),
        }
    if not typed:
        return {"type": "transform", "transform": str(term.transform), "term": term.reference.name}
    name, _, size = str(term.transform).rstrip("]").partition("[")
    argument = term_json(term.reference, typed=True)
    arguments = [int(size), argument] if size else [argument]
    function = {"catalog": "iceberg_functions", "identifier": [name]}
    return {"type": "apply", "function": function, "arguments": arguments}


def read_term(obj: object, schema: Schema | None) -> Term:
    """The term of any of its forms. Raises InvalidInput."""
    if isinstance(obj, str):
        return Reference(obj)
    match required(obj, "type"):
        case "reference":
            return _read_reference(obj, schema)
        case "transform":
            transform = required(obj, "transform")
            if not isinstance(transform, str):
                raise InvalidInput(f"a transform is named by text, not {transform!r:.60}")
            inner = required(obj, "term")
            return TransformTerm(_known(transform), inner_reference(inner, schema))
        case "apply":
            return _read_call(obj, schema)
    raise InvalidInput(f"{obj!r:.80} is neither a column nor a transform of one")


def inner_reference(obj: object, schema: Schema | None) -> Reference:
    """A column, not a transform."""
    if isinstance(obj, str):
        return Reference(obj)
    if required(obj, "type") != "reference":
        raise InvalidInput("a transform applies to a column")
    return _read_reference(obj, schema)


def read_literals(obj: object) -> tuple[Literal, ...]:
    """A list of literals, or one with a common type."""
    if isinstance(obj, Mapping):
        values, data_type = required(obj, "values"), required(obj, "data-type")
        if not isinstance(values, list):
            raise InvalidInput("`values` must be an array")
        return tuple(_typed(value, data_type) for value in values)
    if not isinstance(obj, list):
        raise InvalidInput("`values` must be an array")
    return tuple(read_literal(item) for item in obj)


def read_literal(obj: object) -> Literal:
    """A literal, bare or as an object, with its type or without."""
    if isinstance(obj, Mapping):
        if required(obj, "type") != "literal":
            raise InvalidInput(f"{obj!r:.80} is not a literal")
        value = required(obj, "value")
        return _typed(value, obj["data-type"]) if "data-type" in obj else _bare(value)
    return _bare(obj)


def _bare(value: object) -> Literal:
    if not isinstance(value, (bool, int, float, str)):
        raise InvalidInput(f"{value!r:.60} is not a literal")
    return to_literal(value)


def _typed(value: object, data_type: object) -> Literal:
    if not isinstance(data_type, str):
        raise InvalidInput(f"a literal's data-type is a primitive type, not {data_type!r:.60}")
    primitive = primitive_from_string(data_type)
    if isinstance(primitive, (FloatType, DoubleType)) and value in ("Infinity", "-Infinity"):
        return math.inf if value == "Infinity" else -math.inf
    try:
        return literal_from_physical(primitive, value_from_json(primitive, value))
    except FormatError as error:
        raise InvalidInput(str(error)) from error


def _read_reference(obj: object, schema: Schema | None) -> Reference:
    assert isinstance(obj, Mapping)
    if "id" in obj:
        field_id = obj["id"]
        if schema is None or not isinstance(field_id, int) or field_id not in schema.names:
            raise InvalidInput(f"no column with field id {field_id!r:.40} is known; give the schema it is of")
        return Reference(schema.names[field_id])
    name = obj["name"] if "name" in obj else required(obj, "term")
    if not isinstance(name, str):
        raise InvalidInput(f"a column is named by text, not {name!r:.60}")
    return Reference(name)


def _read_call(obj: object, schema: Schema | None) -> Term:
    name = _function_name(required(obj, "function"))
    arguments = required(obj, "arguments")
    if not isinstance(arguments, list):
        raise InvalidInput("`arguments` must be an array")
    match arguments:
        case [column] if name in _FUNCTIONS:
            return TransformTerm(_known(name), inner_reference(column, schema))
        case [size, column] if name in _SIZED_FUNCTIONS:
            width = read_literal(size)
            if isinstance(width, int) and not isinstance(width, bool):
                return TransformTerm(_known(f"{name}[{width}]"), inner_reference(column, schema))
    raise InvalidInput(f"function {name[:60]!r} with {len(arguments)} arguments is not one that is known")


def _function_name(obj: object) -> str:
    """The name of a function of the specification, however its reference is written."""
    if isinstance(obj, Mapping):
        if obj.get("catalog") not in (None, "iceberg_functions"):
            raise InvalidInput(f"functions of catalog {obj['catalog']!r:.60} are not known")
        obj = required(obj, "identifier")
    if isinstance(obj, list) and len(obj) == 1:
        obj = obj[0]
    if not isinstance(obj, str):
        raise InvalidInput(f"{obj!r:.60} is not the name of a known function")
    return obj


def _known(text: str) -> Transform:
    transform = parse_transform(text)
    if isinstance(transform, UnknownTransform):
        raise InvalidInput(f"transform {text[:60]!r} is not known")
    return transform
