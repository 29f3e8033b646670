"""DataFrames derived from a table or view by filters and projections: how they were made, so that a view of one can be rebuilt
over its current state at each use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pyspark.sql import functions as F

from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.host.session_state import Selection
from floeberg.spark.host.view_settings import Settings, changed_settings, settings_now, under
from floeberg.spark.read.frame_registry import is_connect, plan_id, remember_steps, table_frame_of
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.names import TableIdentifier

_ORIGIN: Final = "_floeberg_origin"
_OF_ITS_TIME: Final = re.compile(r"(?i)\(\s*(?:select|with|from|table)\b|subquery|\$\{")
_CONNECT: Final = "pyspark.sql.connect."


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """A table by its name, what was asked of it, and its columns at that time; no schema for metadata tables."""

    identifier: TableIdentifier
    selection: Selection
    table_uuid: str | None
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class ViewOrigin:
    """A view as it was defined when the DataFrame was made: a later view of its name is another one."""

    resolved: Resolved

    @property
    def identifier(self) -> TableIdentifier:
        return self.resolved.identifier


@dataclass(frozen=True, slots=True)
class DerivedOrigin:
    """A method of another DataFrame, with what it was given."""

    parent: Any
    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    settings: Settings = ()
    """The settings under which a classic session resolved the method; over Spark Connect a view is resolved when it is made."""

    def texts(self) -> list[str]:
        """What the method was given as text. A Column holds no text any more."""
        return list(_texts((*self.args, *self.kwargs.values())))


Origin: TypeAlias = TableOrigin | ViewOrigin | DerivedOrigin
METHODS: Final = (
    "filter", "select", "selectExpr", "withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "drop",
    "toDF", "alias",
)  # fmt: skip
"""The methods after which a DataFrame can be rebuilt."""


def origin_of(frame: Any) -> Origin | None:
    found = getattr(frame, "__dict__", {}).get(_ORIGIN)
    return found if isinstance(found, TableOrigin | ViewOrigin | DerivedOrigin) else None


def note_origin(frame: Any, origin: Origin) -> None:
    setattr(frame, _ORIGIN, origin)


def derived(frame: Any, method: str, result: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a method, which remembers how it was derived if that is known of the frame itself.

    The names in a subquery resolve where and when it is written, and so do variables, so a frame with one is not rebuilt.
    """
    if origin_of(frame) is not None and result is not frame and not _is_of_its_time((*args, *kwargs.values())):
        session = None if is_connect(frame) else session_of(frame.sparkSession)
        settings = () if session is None else settings_now(session, "".join(_texts((*args, *kwargs.values()))))
        note_origin(result, DerivedOrigin(frame, method, own_copy(args), own_copy(kwargs), settings))
    return result


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from _texts(value)


def _is_of_its_time(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, Mapping):
            found = _is_of_its_time(value.values())
        elif isinstance(value, list | tuple):
            found = _is_of_its_time(value)
        else:
            found = _OF_ITS_TIME.search(value if isinstance(value, str) else repr(value)) is not None
        if found:
            return True
    return False


def own_copy(value: Any) -> Any:
    """The arguments of a method, with copies of lists and dicts: the user may change them later."""
    if isinstance(value, Mapping):
        return {key: own_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [own_copy(item) for item in value]
    return tuple(own_copy(item) for item in value) if type(value) is tuple else value


def source_of(frame: Any) -> TableOrigin | ViewOrigin | None:
    """The table or view that a DataFrame is derived from; None for any other."""
    origin = origin_of(frame)
    while isinstance(origin, DerivedOrigin):
        origin = origin_of(origin.parent)
    return origin


def replayed(session: AttachedSession, frame: Any, base: Callable[[TableOrigin | ViewOrigin, Any], Any]) -> Any:
    """The frame rebuilt over what `base` gives for its table or view and the frame of that, with the columns of that one. Each
    method means what it meant under the settings of its time."""
    origin = origin_of(frame)
    assert origin is not None
    if not isinstance(origin, DerivedOrigin):
        new = base(origin, frame)
    else:
        parent = replayed(session, origin.parent, base)
        with under(session, changed_settings(session, origin.settings)):
            # Not Spark's own method: that of an attached session finds metadata columns.
            new = getattr(parent, origin.method)(*origin.args, **origin.kwargs)
    whole = _in_the_place_of(frame, new)
    note_origin(whole, origin)
    found = table_frame_of(new)
    if found is not None:
        remember_steps(whole, found.in_the_place_of(plan_id(frame)))
    return whole


def _in_the_place_of(old: Any, new: Any) -> Any:
    """The new frame, for which columns that are bound to the old one (`old.id`) hold.

    A classic Column is bound to the attributes of a plan, and a union has those of its first side; Spark drops a side
    without rows. A Connect Column is bound to the number of a plan.
    """
    if type(old).__module__.startswith(_CONNECT):
        whole = original(new, "select")("*")
        whole._plan._root_plan_id = old._plan._plan_id
        return whole
    return original(old, "filter")(F.lit(False)).union(new)
