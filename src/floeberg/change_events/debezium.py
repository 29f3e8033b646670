"""Debezium's envelope as JSON text: `{"before": …, "after": …, "op": "u", "source": …}`, with or without its schema.
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from floeberg.change_events.debezium_values import ConnectSchema, Undecodable, decode, field_schemas
from floeberg.change_events.events import CODES, SKIPPABLE, EventKind
from floeberg.spec.schemas.schema import Schema

MYSQL_ORDER: Final = ("source.file", "source.pos", "source.row")
"""The order of MySQL's events: the binlog's file, the position in it, and the row of a statement."""
_TEXT_ORDERS: Final = ("file", "sequence", "change_lsn", "commit_lsn")
_COUNTING_ORDERS: Final = ("file", "sequence")
ORDER_DIGITS: Final = 20
"""How many digits a number in the text of an order gets, so that `binlog.1000000` comes after `binlog.999999`."""


def is_text_order(path: str) -> bool:
    """Whether a field of the envelope orders events as text; the others are numbers."""
    return path.rpartition(".")[2] in _TEXT_ORDERS


def is_counting_order(path: str) -> bool:
    """Whether the text of an order has decimal numbers of any length, which are compared as numbers: names of binlog files,
    and PostgreSQL's pairs of positions. Numbers of SQL Server's positions are hexadecimal and of one length."""
    return path.rpartition(".")[2] in _COUNTING_ORDERS


@dataclass(frozen=True, slots=True)
class Image:
    """A row of an event; `row` holds the columns that it has."""

    kind: EventKind | None
    row: Mapping[str, Any]
    orders: tuple[Any, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRules:
    """How envelopes become images of rows of a table."""

    schema: Schema
    keys: tuple[str, ...]
    orders: tuple[str, ...] = ()
    """Paths in the envelope that order events."""
    skip: tuple[str, ...] = ()


def images(text: str | bytes | None, rules: EnvelopeRules) -> Iterator[Image]:
    """The images of one event: the row before and after an update where both are there. None for a tombstone, and for events
    that are skipped. What cannot be decoded is an image with a reason."""
    if text is None:
        return
    try:
        yield from _images(_envelope(text), rules)
    except Undecodable as error:
        yield Image(None, {}, (None,) * len(rules.orders), str(error))


@dataclass(frozen=True, slots=True)
class _Envelope:
    payload: Mapping[str, Any]
    schema: ConnectSchema | None


def _envelope(text: str | bytes) -> _Envelope | None:
    try:
        document = json.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Undecodable(f"the event is no JSON: {error}") from None
    schema = None
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        schema, document = document["schema"], document["payload"]
    if document is None:
        return None
    if not isinstance(document, dict) or "op" not in document:
        raise Undecodable("the event is no envelope of Debezium's: it has no op")
    return _Envelope(document, schema if isinstance(schema, dict) else None)


def _images(envelope: _Envelope | None, rules: EnvelopeRules) -> Iterator[Image]:
    if envelope is None:
        return
    code = envelope.payload["op"]
    if code in rules.skip:
        return
    if code in SKIPPABLE:
        raise Undecodable(f"code {code!r} (truncate or message) is applied by nobody; skip it")
    kind = CODES.get(str(code).upper())
    if kind not in (EventKind.INSERT, EventKind.UPDATE_AFTER, EventKind.DELETE):
        raise Undecodable(f"the code {code!r} is not known")
    orders = tuple(_order(envelope.payload, path) for path in rules.orders)
    before = _row(envelope, "before", rules)
    if kind is EventKind.DELETE:
        yield Image(kind, _keys_of(before, rules), orders)
        return
    after = _row(envelope, "after", rules)
    if after is None:
        raise Undecodable(f"an event of code {code!r} has no row after it")
    if before is not None and kind is EventKind.UPDATE_AFTER and all(before.get(key) is not None for key in rules.keys):
        yield Image(EventKind.UPDATE_BEFORE, before, orders)
    yield Image(kind, after, orders)


def _keys_of(before: Mapping[str, Any] | None, rules: EnvelopeRules) -> Mapping[str, Any]:
    if before is None:
        raise Undecodable("a delete has no row before it, so that its key is not known (REPLICA IDENTITY NOTHING?)")
    return before


def _row(envelope: _Envelope, side: str, rules: EnvelopeRules) -> dict[str, Any] | None:
    row = envelope.payload.get(side)
    if row is None:
        return None
    if not isinstance(row, dict):
        raise Undecodable(f"the event's {side} is no row")
    schemas = field_schemas(field_schemas(envelope.schema).get(side))
    decoded = {}
    for name, value in row.items():
        field = rules.schema.find(name) or rules.schema.find(name, case_sensitive=False)
        if field is None or field not in rules.schema.fields:
            raise Undecodable(f"the table has no column {name!r}")
        try:
            decoded[field.name] = decode(value, field.type, schemas.get(name))
        except Undecodable as error:
            raise Undecodable(f"column {name!r}: {error}") from None
    return decoded


def _order(payload: Mapping[str, Any], path: str) -> Any:
    value: Any = payload
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None or is_text_order(path):
        return None if value is None else _order_text(path, value)
    try:
        number = int(value)
    except (TypeError, ValueError, ArithmeticError):
        raise Undecodable(f"the order {path!r} is no whole number: {value!r:.60}") from None
    if number != value and not isinstance(value, str):
        raise Undecodable(f"the order {path!r} is no whole number: {value!r:.60}")
    if not -(1 << 63) <= number < 1 << 63:
        raise Undecodable(f"the order {path!r} does not fit 64 bits: {value!r:.60}")
    return number


def _order_text(path: str, value: Any) -> str | None:
    """The text that an order is compared by. A pair of positions of which one is missing has no place in the order."""
    text = value if isinstance(value, str) else json.dumps(value)
    if not is_counting_order(path):
        return text
    if path.endswith("sequence") and "null" in text:
        return None
    return re.sub(r"[0-9]+", lambda number: number.group().zfill(ORDER_DIGITS), text)


def columns_of(found: Sequence[Image], schema: Schema) -> dict[str, list[Any]]:
    """The rows of images column by column, for each column of the table."""
    return {field.name: [image.row.get(field.name) for image in found] for field in schema.fields}
