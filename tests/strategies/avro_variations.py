"""The same records under other writer schemas: what Avro's resolution rules, and Iceberg's field ids, allow writers to do.

https://avro.apache.org/docs/1.12.0/specification/#schema-resolution
"""

from __future__ import annotations

import io
import math
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

import fastavro
import msgspec

from floeberg.files.avro_container import read_blocks, read_header, write_container

Convert = Callable[[Any], Any]
EXTRAS: tuple[tuple[Any, Any], ...] = (
    ("string", "x"),
    (["null", "double"], None),
    ({"type": "map", "values": "long"}, {"a": 1}),
    ({"type": "array", "items": ["null", "string"]}, [None, "b"]),
    ({"type": "enum", "name": "e{n}", "symbols": ["A", "B"]}, "B"),
    ({"type": "fixed", "name": "x{n}", "size": 3}, b"abc"),
    ({"type": "record", "name": "r{n}", "fields": [{"name": "f", "type": "boolean"}]}, {"f": True}),
)


def vary_container(data: bytes, rng: random.Random) -> bytes:
    """A container of the same records, written with another schema, codec and blocks."""
    header = read_header(data)
    schema = _written_out(msgspec.json.decode(header.metadata["avro.schema"]), {})
    records = plain_records(data)
    varied, convert = _Variation(rng).record(schema, records)
    encoded = [_encode(convert(record), _parsed(varied)) for record in records]
    at_once = rng.choice((1, 3, 1000))
    blocks = [
        (len(part), b"".join(part)) for part in (encoded[i : i + at_once] for i in range(0, len(encoded), at_once))
    ]
    kept = {k: v.decode() for k, v in header.metadata.items() if not k.startswith("avro.")}
    codec = rng.choice(("null", "deflate", "zstandard"))
    return write_container(msgspec.json.encode(varied), blocks, metadata=kept, codec=codec)


def plain_records(data: bytes) -> list[dict[str, Any]]:
    """The records of a container as numbers, bytes and texts, without logical types."""
    header = read_header(data)
    count, body = read_blocks(data, header)
    schema = _parsed(msgspec.json.decode(header.metadata["avro.schema"]))
    stream = io.BytesIO(body)
    return [fastavro.schemaless_reader(stream, schema) for _ in range(count)]


def _encode(record: Any, schema: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def _parsed(schema: Any) -> Any:
    return fastavro.parse_schema(_without_logical(schema))


def _written_out(schema: Any, named: dict[str, Any]) -> Any:
    """A schema in which each use of a name is its definition."""
    if isinstance(schema, list):
        return [_written_out(branch, named) for branch in schema]
    if isinstance(schema, str):
        return named.get(schema, schema)
    whole = {k: v for k, v in schema.items() if k not in ("type", "fields", "items")}
    whole["type"] = schema["type"] if isinstance(schema["type"], str) else _written_out(schema["type"], named)
    if isinstance(whole["type"], str) and whole["type"] in named:
        whole["type"] = named[whole["type"]]
    if "fields" in schema:
        whole["fields"] = [{**field, "type": _written_out(field["type"], named)} for field in schema["fields"]]
    if "items" in schema:
        whole["items"] = _written_out(schema["items"], named)
    if schema["type"] == "fixed":
        named[schema["name"]] = whole
    return whole


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(branch) for branch in schema]
    if isinstance(schema, dict):
        return {k: _without_logical(v) for k, v in schema.items() if k not in ("logicalType", "precision", "scale")}
    return schema


class _Variation:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = 0

    def record(self, schema: Any, values: Sequence[Any]) -> tuple[Any, Convert]:
        members: list[tuple[Any, str, Convert]] = []
        for field in schema["fields"]:
            below = [value[field["name"]] for value in values]
            kind, convert = self.field(field, below)
            name = field["name"]
            if "field-id" in field and self._rng.random() < 0.2:
                name = f"renamed_{self._next()}"
            written = {**{k: v for k, v in field.items() if k != "default"}, "name": name, "type": kind}
            if self._rng.random() < 0.2:
                written |= {"doc": "said", "aliases": ["other"]}
            members.append((written, field["name"], convert))
        is_pair = [field["name"] for field in schema["fields"]] == ["key", "value"]
        if not is_pair and self._rng.random() < 0.5:
            self._rng.shuffle(members)
        for _ in range(0 if is_pair else self._rng.choice((0, 0, 1, 2))):
            members.insert(self._rng.randint(0, len(members)), self._extra())
        name = self._rng.choice((f"r_{self._next()}", f"some.space.r_{self._next()}"))

        def convert_all(value: Any) -> Any:
            return {written["name"]: convert(value.get(source)) for written, source, convert in members}

        return {"type": "record", "name": name, "fields": [written for written, _, _ in members]}, convert_all

    def field(self, field: Any, values: Sequence[Any]) -> tuple[Any, Convert]:
        schema = field["type"]
        if field.get("field-id") == 101 and self._rng.random() < 0.3:
            symbols = sorted({*values, "PARQUET"})
            enum = {"type": "enum", "name": f"format_{self._next()}", "symbols": symbols}
            if all(symbol.isidentifier() for symbol in symbols):
                return self.optional(enum, lambda value: value)
        return self.vary(schema, values)

    def vary(self, schema: Any, values: Sequence[Any]) -> tuple[Any, Convert]:
        """A type for the values that may or may not be a union with null, and how a value is put into it."""
        there = [value for value in values if value is not None]
        if not isinstance(schema, list):
            return self.optional(*self.type(schema, there))
        other = next(branch for branch in schema if branch != "null")
        kind, convert = self.type(other, there)
        if len(there) == len(values) and self._rng.random() < 0.2:
            return kind, convert
        branches = [kind, "null"] if self._rng.random() < 0.3 else ["null", kind]
        return branches, lambda value: None if value is None else convert(value)

    def optional(self, kind: Any, convert: Convert) -> tuple[Any, Convert]:
        wrapped = self._rng.choice((kind, kind, kind, ["null", kind], [kind, "null"], [kind]))
        return wrapped, convert

    def type(self, schema: Any, values: Sequence[Any]) -> tuple[Any, Convert]:
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict):
            return self.type(kind, values)
        if kind == "record":
            return self.record(schema, values)
        if kind == "array":
            items, convert = self.vary(schema["items"], [item for value in values for item in value])
            return {**schema, "items": items}, lambda value: [convert(item) for item in value]
        if isinstance(schema, dict) and ("logicalType" in schema or kind == "fixed"):
            return ({**schema, "name": f"fixed_{self._next()}"} if kind == "fixed" else schema), lambda value: value
        return self.primitive(kind, values)

    def primitive(self, kind: str, values: Sequence[Any]) -> tuple[Any, Convert]:
        """A type that the kind may be read from."""
        choices: list[tuple[Any, Convert]] = [(kind, lambda value: value)] * 3
        choices.append(({"type": kind}, lambda value: value))
        if kind == "long" and all(-(2**31) <= value < 2**31 for value in values):
            choices.append(("int", lambda value: value))
        if kind == "double" and all(_is_f32(value) for value in values):
            choices.append(("float", lambda value: value))
        if kind == "string":
            choices.append(("bytes", lambda value: value.encode()))
        if kind == "bytes" and all(_is_text(value) for value in values):
            choices.append(("string", lambda value: value.decode()))
        return self._rng.choice(choices)

    def _extra(self) -> tuple[Any, str, Convert]:
        kind, value = self._rng.choice(EXTRAS)
        number = self._next()
        if isinstance(kind, dict) and "name" in kind:
            kind = {**kind, "name": kind["name"].format(n=number)}
        field: dict[str, Any] = {"name": f"extra_{number}", "type": kind, "field-id": 90_000 + number}
        return field, "", lambda _: value

    def _next(self) -> int:
        self._names += 1
        return self._names


def _is_f32(value: float) -> bool:
    if not math.isfinite(value):
        return True
    return abs(value) < 3e38 and struct.unpack("<f", struct.pack("<f", value))[0] == value


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
