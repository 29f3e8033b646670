"""Avro containers with some values of their records changed, and everything else as it was: schema, header, inherited nulls,
fields that nobody here knows."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import fastavro
import msgspec

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import Header, blocked, read_block_groups, read_header, write_container

Record = dict[str, Any]
_AT_ONCE: Final = 1 << 20
_UNREADABLE: Final = (EOFError, ValueError, IndexError, KeyError, TypeError, struct.error)


def edit_records(data: bytes, edit: Callable[[Record], None]) -> bytes:
    """The container after `edit` was called for each of its records. The same input gives the same bytes.

    Values come as the format stores them, without logical types. Raises ManifestCorrupt, LimitExceeded, UnsupportedFeature.
    """
    header = read_header(data)
    written = header.metadata.get("avro.schema", b"null")
    plain = fastavro.parse_schema(_without_logical_types(msgspec.json.decode(written)))
    metadata = {key: header.text(key) or "" for key in header.metadata if not key.startswith("avro.")}
    return write_container(written, blocked(_edited(data, header, plain, edit)), metadata=metadata, codec=header.codec)


def _edited(data: bytes, header: Header, plain: Any, edit: Callable[[Record], None]) -> Iterator[bytes]:
    for count, body in read_block_groups(data, header, at_once=_AT_ONCE):
        stream = io.BytesIO(body)
        for _ in range(count):
            try:
                record: Any = fastavro.schemaless_reader(stream, plain, None)
            except _UNREADABLE as error:
                raise ManifestCorrupt(f"an Avro record cannot be decoded: {error}") from error
            edit(record)
            out = io.BytesIO()
            fastavro.schemaless_writer(out, plain, record)
            yield out.getvalue()


def _without_logical_types(schema: Any) -> Any:
    """The schema of the same bytes in which dates, decimals and so on are the numbers and bytes that they are stored as."""
    if isinstance(schema, list):
        return [_without_logical_types(one) for one in schema]
    if isinstance(schema, dict):
        return {key: _without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    return schema
