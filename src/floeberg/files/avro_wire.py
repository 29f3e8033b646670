"""What an Avro writer schema says of the bytes, and nothing else.

A file is decoded by the shape its writer declares, found again by field id. Names, logical types and repeated
definitions are resolved here once, so that both decoders see the same plain shape, and shapes that could make a decoder
loop without reading a byte (arrays of nothing) or grow without end (definitions that use themselves) never reach one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from floeberg.errors import LimitExceeded, ManifestCorrupt
from floeberg.files.avro_container import encode_long
from floeberg.files.limits import DecodeLimits

SENTINEL_LONG: Final = 0x5EA1
SENTINEL_BYTES: Final = b"sentinel"
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WireType:
    """A value on the wire. `null_index` is the place of null in the union with it, None if it is no union with null;
    `is_only_branch` says that it is the one type of a union without null."""

    kind: str
    null_index: int | None = None
    is_only_branch: bool = False
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    adjust_to_utc: bool = False
    size: int = 0
    symbols: tuple[str, ...] = ()
    item: WireType | None = None
    fields: tuple[WireField, ...] = ()

    @property
    def is_empty(self) -> bool:
        """A value takes no bytes at all."""
        if self.null_index is not None or self.is_only_branch:
            return False
        return self.kind == "null" or (self.kind == "record" and all(field.type.is_empty for field in self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class WireField:
    """A record's field; `name` is the Iceberg name where the Avro one had to differ."""

    name: str
    field_id: int | None
    type: WireType


def parse_writer_schema(text: bytes, limits: DecodeLimits) -> tuple[WireField, ...]:
    """The fields of the record that a file holds. Raises ManifestCorrupt, LimitExceeded."""
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise ManifestCorrupt(f"the Avro schema in the header is not JSON ({error})") from error
    except RecursionError as error:
        raise LimitExceeded("the Avro schema in the header is nested too deeply") from error
    wire = _Parser(limits).parse(schema, depth=0, enclosing="")
    if wire.kind != "record" or wire.null_index is not None or wire.is_only_branch:
        raise ManifestCorrupt(f"the Avro schema in the header is of {wire.kind}s, not of records")
    return wire.fields


class _Parser:
    """Resolves names while it walks; counts nodes, because definitions that use others can unfold without end."""

    def __init__(self, limits: DecodeLimits) -> None:
        self._limits = limits
        self._named: dict[str, WireType] = {}
        self._nodes: dict[str, int] = {}
        self._count = 0

    def parse(self, schema: object, *, depth: int, enclosing: str) -> WireType:
        self._count += 1
        if depth > self._limits.max_schema_depth or self._count > self._limits.max_schema_nodes:
            raise LimitExceeded("the Avro schema in the header is too deep or too large")
        if isinstance(schema, str):
            return WireType(kind=schema) if schema in _PRIMITIVES else self._by_name(schema, enclosing)
        if isinstance(schema, list):
            return self._union(schema, depth, enclosing)
        if not isinstance(schema, dict):
            raise ManifestCorrupt("the Avro schema in the header has something that is no type")
        kind = schema.get("type")
        if isinstance(kind, dict | list):
            return self.parse(kind, depth=depth + 1, enclosing=enclosing)
        match kind:
            case "record" | "error":
                return self._record(schema, depth, enclosing)
            case "array" | "map":
                return self._array(schema, depth, enclosing)
            case "fixed":
                return self._fixed(schema, enclosing)
            case "enum":
                return self._enum(schema, enclosing)
            case str() if kind in _PRIMITIVES:
                return _with_logical(schema, WireType(kind=kind))
            case str():
                return self._by_name(kind, enclosing)
        raise ManifestCorrupt("the Avro schema in the header has a type without a name")

    def _union(self, branches: list[object], depth: int, enclosing: str) -> WireType:
        types = [self.parse(branch, depth=depth + 1, enclosing=enclosing) for branch in branches]
        others = [t for t in types if t.kind != "null" or t.null_index is not None]
        if any(other.null_index is not None or other.is_only_branch for other in others):
            raise ManifestCorrupt("the Avro schema has a union inside a union")
        if len(types) == 2 and len(others) == 1:
            return replace(others[0], null_index=types.index(WireType(kind="null")))
        if len(types) == len(others) == 1:
            return replace(others[0], is_only_branch=True)
        raise ManifestCorrupt(
            "the Avro schema has a union other than of null and one type, which Iceberg does not allow"
        )

    def _enum(self, schema: Mapping[str, object], enclosing: str) -> WireType:
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise ManifestCorrupt("the Avro schema has an enum without symbols")
        return self._define(schema, WireType(kind="long", logical="enum", symbols=tuple(symbols)), enclosing, 1)

    def _record(self, schema: Mapping[str, object], depth: int, enclosing: str) -> WireType:
        name = _full_name(schema, enclosing)
        namespace = name.rpartition(".")[0]
        before = self._count
        fields: list[WireField] = []
        members = schema.get("fields")
        if not isinstance(members, list):
            raise ManifestCorrupt("the Avro schema has a record without fields")
        for member in members:
            if not isinstance(member, dict) or not isinstance(member.get("name"), str):
                raise ManifestCorrupt("the Avro schema has a field without a name")
            original, field_id = member.get("iceberg-field-name"), member.get("field-id")
            fields.append(
                WireField(
                    name=original if isinstance(original, str) else member["name"],
                    field_id=field_id if type(field_id) is int else None,
                    type=self.parse(member.get("type"), depth=depth + 1, enclosing=namespace),
                )
            )
        return self._define(schema, WireType(kind="record", fields=tuple(fields)), enclosing, self._count - before)

    def _array(self, schema: Mapping[str, object], depth: int, enclosing: str) -> WireType:
        if schema["type"] == "map":
            value = self.parse(schema.get("values"), depth=depth + 1, enclosing=enclosing)
            key = WireField(name="key", field_id=None, type=WireType(kind="string"))
            item = WireType(kind="record", fields=(key, WireField(name="value", field_id=None, type=value)))
        else:
            item = self.parse(schema.get("items"), depth=depth + 1, enclosing=enclosing)
            if schema.get("logicalType") == "map" and item.kind == "record" and len(item.fields) == 2:
                first, second = item.fields  # by place, whatever the writer calls them
                item = replace(item, fields=(replace(first, name="key"), replace(second, name="value")))
        if item.is_empty:
            raise ManifestCorrupt("the Avro schema has an array whose items take no bytes")
        return WireType(kind="array", item=item)

    def _fixed(self, schema: Mapping[str, object], enclosing: str) -> WireType:
        size = schema.get("size")
        if type(size) is not int or not 0 < size <= self._limits.max_decoded_bytes:
            raise ManifestCorrupt(f"the Avro schema has a fixed type of size {str(size)[:20]}")
        return self._define(schema, _with_logical(schema, WireType(kind="fixed", size=size)), enclosing, 1)

    def _define(self, schema: Mapping[str, object], wire: WireType, enclosing: str, nodes: int) -> WireType:
        name = _full_name(schema, enclosing)
        self._named[name] = wire
        self._nodes[name] = nodes
        return wire

    def _by_name(self, name: str, enclosing: str) -> WireType:
        full = name if "." in name or not enclosing else f"{enclosing}.{name}"
        key = full if full in self._named else name
        if key not in self._named:
            raise ManifestCorrupt(f"the Avro schema uses {name[:60]!r} before it is defined")
        self._count += self._nodes[key]
        if self._count > self._limits.max_schema_nodes:
            raise LimitExceeded("the Avro schema in the header is too large once its names are resolved")
        return self._named[key]


def _full_name(schema: Mapping[str, object], enclosing: str) -> str:
    name, namespace = schema.get("name"), schema.get("namespace", enclosing)
    if not isinstance(name, str):
        raise ManifestCorrupt("the Avro schema defines a type without a name")
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _with_logical(schema: Mapping[str, object], wire: WireType) -> WireType:
    logical, precision, scale = schema.get("logicalType"), schema.get("precision"), schema.get("scale", 0)
    if not isinstance(logical, str):
        return wire
    if logical != "decimal":
        return replace(wire, logical=logical, adjust_to_utc=schema.get("adjust-to-utc") is True)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision <= 38 or precision == 0:
        raise ManifestCorrupt(f"the Avro schema has a decimal({str(precision)[:12]}, {str(scale)[:12]})")
    return replace(wire, logical=logical, precision=precision, scale=scale)


def member_name(field: WireField, place: int) -> str:
    """The name of a nested record's member in a decoded frame: by its place, but for those of a map's pairs."""
    return field.name if field.name in ("key", "value") else f"f{place}"


def plain_schema(columns: Mapping[str, WireType]) -> dict[str, object]:
    """An Avro schema of the same bytes that any decoder understands: own names, no logical type but decimal."""
    names = iter(range(1 << 60))

    def emit(wire: WireType, *, top: bool) -> object:
        plain: object
        match wire.kind:
            case "record":
                members = [
                    {
                        "name": member_name(field, place),
                        "type": emit(field.type, top=False),
                    }
                    for place, field in enumerate(wire.fields)
                    if not field.type.is_empty
                ]
                # A nullable record of nothing is only the union's index.
                plain = {"type": "record", "name": f"r{next(names)}", "fields": members} if members else "null"
            case "array":
                assert wire.item is not None
                plain = {"type": "array", "items": emit(wire.item, top=False)}
            case "fixed":
                plain = {"type": "fixed", "name": f"x{next(names)}", "size": wire.size, **_decimal(wire)}
            case "bytes":
                plain = {"type": "bytes", **_decimal(wire)} if wire.logical == "decimal" else "bytes"
            case "int" if top:
                plain = "long"  # the same bytes; a value out of range then shows instead of wrapping around
            case _:
                plain = wire.kind
        if wire.null_index is None and not wire.is_only_branch:
            return plain
        if plain == "null":
            return "long"
        if wire.is_only_branch:
            return [plain]
        return ["null", plain] if wire.null_index == 0 else [plain, "null"]

    fields = [{"name": name, "type": emit(wire, top=True)} for name, wire in columns.items() if not wire.is_empty]
    return {"type": "record", "name": "root", "fields": fields}


def _decimal(wire: WireType) -> dict[str, object]:
    if wire.logical != "decimal":
        return {}
    return {"logicalType": "decimal", "precision": wire.precision, "scale": wire.scale}


def sentinel_bytes(wire: WireType) -> bytes:
    """A value that is put behind the last record: if it does not decode to itself, the records were not what the block
    counts said, and entries would be lost in silence."""
    if wire.null_index is not None:
        return encode_long(wire.null_index)
    if wire.is_only_branch:
        return encode_long(0) + sentinel_bytes(replace(wire, is_only_branch=False))
    match wire.kind:
        case "boolean":
            return b"\x01"
        case "int" | "long":
            return encode_long(SENTINEL_LONG)
        case "float":
            return b"\x00\x00\x80\x3f"
        case "double":
            return b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
        case "bytes" if wire.logical == "decimal":
            return b"\x02\x00"
        case "bytes" | "string":
            return encode_long(len(SENTINEL_BYTES)) + SENTINEL_BYTES
        case "fixed":
            return bytes(wire.size)
        case "array":
            return b"\x00"
    return b"".join(sentinel_bytes(field.type) for field in wire.fields)
