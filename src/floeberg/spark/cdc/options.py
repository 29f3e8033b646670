"""What a caller of `floeberg.cdc` asks for, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.change_events.events import SKIPPABLE
from floeberg.errors import InvalidInput

POSITION: Final = "position"
COLUMNS: Final = "columns"
DEBEZIUM: Final = "debezium"
UNAVAILABLE: Final = "__debezium_unavailable_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class CdcOptions:
    """How events become changes of a table; `floeberg.cdc` says what each means."""

    keys: tuple[str, ...] | None = None
    op: str | None = None
    format: str = COLUMNS
    value: str | None = None
    order_by: tuple[str, ...] | None = None
    upsert: bool = False
    collapse: bool = False
    lookup: str | None = None
    merge_schema: bool = False
    dead_letters: str | None = None
    skip: tuple[str, ...] = ()
    branch: str | None = None
    placeholder: str | None = None
    """What stands for values that the source did not send."""


def cdc_options(
    *,
    keys: Sequence[str] | str | None,
    op: str | None = None,
    format: str = COLUMNS,
    value: str | None = None,
    order_by: Sequence[str] | str | None = None,
    upsert: bool | None = None,
    collapse: bool = False,
    lookup: str | None = None,
    merge_schema: bool = False,
    dead_letters: str | None = None,
    skip: Sequence[str] | str = (),
    branch: str | None = None,
    unavailable_value: str | None = None,
) -> CdcOptions:
    """The options as one record. Raises InvalidInput."""
    if format not in (COLUMNS, DEBEZIUM):
        raise InvalidInput(f"format is {COLUMNS!r} or {DEBEZIUM!r}, not {format!r:.60}")
    if format == COLUMNS and op is None:
        raise InvalidInput("say which column holds the code of an event (op='op'), or format='debezium'")
    if (op if format == DEBEZIUM else value) is not None:
        raise InvalidInput("op= is for events in columns, value= for format='debezium', whose envelope has the code")
    if lookup not in (None, POSITION):
        raise InvalidInput(
            f"lookup is {POSITION!r}, which looks keys up before rows are deleted, or None; not {lookup!r:.60}"
        )
    skipped = tuple(code.lower() for code in _names(skip) or ())
    if unknown := [code for code in skipped if code not in SKIPPABLE]:
        raise InvalidInput(
            f"skip takes Debezium's codes {' and '.join(SKIPPABLE)} (truncate, message), not {unknown[0]!r}; other events "
            "are applied, or left out of the DataFrame"
        )
    return CdcOptions(
        keys=_names(keys),
        op=op,
        format=format,
        value=value,
        order_by=_names(order_by),
        upsert=format == DEBEZIUM if upsert is None else upsert,
        collapse=collapse,
        lookup=lookup,
        merge_schema=merge_schema,
        dead_letters=dead_letters,
        skip=skipped,
        branch=branch,
        placeholder=unavailable_value or (UNAVAILABLE if format == DEBEZIUM else None),
    )


def _names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (given,) if isinstance(given, str) else tuple(given)
