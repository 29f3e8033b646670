"""Avro records to columns: polars where it can, fastavro otherwise, with the same result.

Both read a container built here: the records of some blocks of the file behind a plain schema of the same shape, and one
sentinel record behind the last, which proves that the records end where the block counts say.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import fastavro
import msgspec
import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import MAGIC, encode_long
from floeberg.files.avro_wire import SENTINEL_BYTES, SENTINEL_LONG, WireType, member_name, plain_schema, sentinel_bytes

Decoder = Literal["auto", "polars", "fastavro"]

FALLBACK_BYTES: Final = 4 * 1024 * 1024
"""How many bytes of records may go to fastavro when polars fails: rows as Python objects take a hundred times as much, so
damaged bytes in any amount must not get there."""

_FIRST_RECORDS: Final = 16
_FIRST_BYTES: Final = 1 << 20
_SYNC: Final = b"floeberg-decoder"
_SCALARS: Final[dict[str, type[pl.DataType]]] = {
    "boolean": pl.Boolean,
    "int": pl.Int32,
    "long": pl.Int64,
    "float": pl.Float32,
    "double": pl.Float64,
    "bytes": pl.Binary,
    "string": pl.String,
    "fixed": pl.Binary,
}
_POLARS_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises on bytes that are no Avro: its decoder indexes before it checks, which is a panic and harmless."""

FASTAVRO_ERRORS: Final = (
    EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError, ArithmeticError,
    pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip
"""What fastavro, and polars on what it gave, raise on bytes that are no Avro."""


@dataclass(frozen=True, slots=True, eq=False)
class DecodePlan:
    """What decoding records of one writer schema needs, made once for all files that have it."""

    columns: Mapping[str, WireType]
    codes: Mapping[str, str]
    schema_json: bytes
    sentinel: bytes
    is_for_polars: bool = True


def plan_decoding(columns: Mapping[str, WireType]) -> DecodePlan:
    """The plan for records of these fields, which are in the order of the bytes. Names are free: decoders see codes."""
    coded = {f"c{place}": wire for place, wire in enumerate(columns.values())}
    codes = {code: name for code, name in zip(coded, columns, strict=True) if not columns[name].is_empty}
    schema = msgspec.json.encode(plain_schema(coded))
    sentinel = b"".join(sentinel_bytes(wire) for wire in coded.values())
    return DecodePlan(dict(columns), codes, schema, sentinel, not any(map(_is_unknown_to_polars, coded.values())))


def _is_unknown_to_polars(wire: WireType) -> bool:
    """Whether polars, which would print that it panics, has no decoder for it: a union of one type."""
    below = [field.type for field in wire.fields] + ([] if wire.item is None else [wire.item])
    return wire.is_only_branch or any(map(_is_unknown_to_polars, below))


def decode_columns(
    body: bytes | bytearray,
    records: int,
    plan: DecodePlan,
    *,
    select: Collection[str] | None = None,
    decoder: Decoder = "auto",
) -> dict[str, pl.Series]:
    """The records as columns of physical values, one for each name whose type takes bytes. Raises
    ManifestCorrupt."""
    wanted = {code: name for code, name in plan.codes.items() if select is None or name in select}
    data = _container(body, records, plan)
    frame: pl.DataFrame | None = None
    if decoder != "fastavro" and (plan.is_for_polars or decoder == "polars"):
        try:
            frame = pl.read_avro(io.BytesIO(data), columns=list(wanted))
        except _POLARS_ERRORS as error:
            if decoder == "polars" or len(data) > FALLBACK_BYTES:
                raise ManifestCorrupt(f"the Avro records cannot be decoded ({error})") from error
    if frame is None:
        if len(data) > FALLBACK_BYTES and decoder == "auto":
            raise ManifestCorrupt("the Avro records are of types that only small files may have")
        frame = _by_fastavro(data, plan, wanted)
    _check_sentinel(frame, records, plan)
    frame.columns = [wanted[code] for code in frame.columns]
    return {series.name: series for series in frame.head(records).get_columns()}


def first_records(body: bytes | bytearray, records: int, plan: DecodePlan) -> list[dict[str, object]] | None:
    """The first few records as Python values by name; None if they are not of this plan."""
    schema = fastavro.parse_schema(msgspec.json.decode(plan.schema_json))
    stream = io.BytesIO(body[:_FIRST_BYTES])
    found: list[dict[str, object]] = []
    try:
        for _ in range(min(records, _FIRST_RECORDS)):
            row: dict[str, object] = fastavro.schemaless_reader(stream, schema)
            found.append({plan.codes[code]: value for code, value in row.items()})
    except FASTAVRO_ERRORS:
        return found or None if len(body) > _FIRST_BYTES else None
    if len(found) == records and stream.tell() != len(body):
        return None
    return found


def physical_dtype(wire: WireType, *, top: bool = True) -> pl.DataType:
    """The dtype under which values of this shape come out of `decode_columns`."""
    if wire.kind == "array":
        assert wire.item is not None
        return pl.List(physical_dtype(wire.item, top=False))
    if wire.kind == "record":
        members = [(place, field) for place, field in enumerate(wire.fields) if not field.type.is_empty]
        if not members:
            return pl.Int64()
        return pl.Struct({member_name(field, place): physical_dtype(field.type, top=False) for place, field in members})
    if wire.logical == "decimal":
        return pl.Decimal(wire.precision, wire.scale)
    if wire.kind == "int" and top:
        return pl.Int64()
    return _SCALARS[wire.kind]()


def _container(body: bytes | bytearray, records: int, plan: DecodePlan) -> bytes:
    """One block of all the records. Some writers make a block of each record, which no decoder is fast on."""
    schema, tail = plan.schema_json, plan.sentinel
    head = MAGIC + b"\x02\x16avro.schema" + encode_long(len(schema)) + schema + b"\x00" + _SYNC
    block = encode_long(records + 1) + encode_long(len(body) + len(tail))
    return b"".join((head, block, body, tail, _SYNC))


def _by_fastavro(data: bytes, plan: DecodePlan, wanted: Mapping[str, str]) -> pl.DataFrame:
    try:
        rows = list(fastavro.reader(io.BytesIO(data)))
        series = [
            pl.Series(code, [row[code] for row in rows], dtype=physical_dtype(plan.columns[name]), strict=True)
            for code, name in wanted.items()
        ]
    except FASTAVRO_ERRORS as error:
        raise ManifestCorrupt(f"the Avro records cannot be decoded ({type(error).__name__}: {error})") from error
    return pl.DataFrame(series)


def _check_sentinel(frame: pl.DataFrame, records: int, plan: DecodePlan) -> None:
    if frame.height == records + 1:
        last = frame.row(records, named=True)
        if all(value == _sentinel_value(plan.columns[plan.codes[code]]) for code, value in last.items()):
            return
    raise ManifestCorrupt("the Avro records do not end where the block counts say; the file is damaged")


def _sentinel_value(wire: WireType) -> object:
    if wire.null_index is not None:
        return wire.null_index if wire.kind == "record" and all(field.type.is_empty for field in wire.fields) else None
    if wire.is_only_branch and wire.kind == "record" and all(field.type.is_empty for field in wire.fields):
        return 0
    match wire.kind:
        case "boolean":
            return True
        case "int" | "long":
            return SENTINEL_LONG
        case "float" | "double":
            return 1.0
        case "string":
            return SENTINEL_BYTES.decode()
        case "fixed" | "bytes" if wire.logical == "decimal":
            return 0
        case "bytes":
            return SENTINEL_BYTES
        case "fixed":
            return bytes(wire.size)
        case "array":
            return []
    return {
        member_name(field, place): _sentinel_value(field.type)
        for place, field in enumerate(wire.fields)
        if not field.type.is_empty
    }
