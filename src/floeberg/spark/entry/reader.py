"""`spark.read`: the user's options are recorded beside PySpark's own, which cannot be read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from floeberg.catalogs.static import open_static
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.read.named_tables import frame_of, selection_of
from floeberg.sql.text.names import selector_of
from floeberg.storage.location import parse_from_user
from floeberg.storage.registry import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RECORD: Final = "_floeberg_record"
FORMATS: Final = ("iceberg", "floeberg")
DEFAULT_FORMAT: Final = "spark.sql.sources.default"
ByName = Callable[[AttachedSession, str, dict[str, Any]], "DataFrame | None"]


@dataclass(slots=True)
class Record:
    """The settings of a reader or writer so far."""

    session: AttachedSession
    format: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    has_schema: bool = False

    def is_format_of_ours(self, given: str | None = None) -> bool:
        """Whether what is read or written is a table of ours; without a format the session's default one counts."""
        if self.session.state.java_runtime:
            return False
        known = given or self.format
        return (known or self.session.setting(DEFAULT_FORMAT, "parquet")).lower() in FORMATS

    @property
    def is_ours(self) -> bool:
        return self.is_format_of_ours()

    def set(self, key: str, value: Any) -> None:
        """Names of options have no case; the last one counts."""
        for known in [one for one in self.options if one.lower() == key.lower()]:
            del self.options[known]
        if value is not None:
            self.options[key] = _text(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def recorded(reader: Any, session: AttachedSession | None) -> Any:
    """The reader, with a record if its session is attached."""
    if session is not None:
        setattr(reader, RECORD, Record(session))
    return reader


def record_of(target: Any) -> Record | None:
    found = getattr(target, "__dict__", {}).get(RECORD)
    return found if isinstance(found, Record) else None


def _format(self: Any, source: str) -> Any:
    record = record_of(self)
    if record is not None:
        record.format = source
    return original(self, "format")(source)


def _option(self: Any, key: str, value: Any) -> Any:
    record = record_of(self)
    if record is not None:
        record.set(key, value)
    return original(self, "option")(key, value)


def _options(self: Any, **options: Any) -> Any:
    record = record_of(self)
    if record is not None:
        for key, value in options.items():
            record.set(key, value)
    return original(self, "options")(**options)


def _schema(self: Any, schema: Any) -> Any:
    record = record_of(self)
    if record is not None:
        record.has_schema = True
    return original(self, "schema")(schema)


def _refuse_schema(record: Record, name: str) -> None:
    """Raises InvalidInput for a schema of the user's: the table has its own."""
    if record.has_schema:
        raise InvalidInput(f"{name}: a table has a schema of its own; leave .schema(…) out and select or cast columns")


RECORDING: Final[dict[str, Callable[..., Any]]] = {"format": _format, "option": _option, "options": _options}


def methods(by_name: ByName) -> dict[str, Callable[..., Any]]:
    """The methods of a reader; `by_name` gives the DataFrame of a name that is ours."""

    def table(self: Any, tableName: str) -> Any:
        record = record_of(self)
        found = None if record is None else by_name(record.session, tableName, record.options)
        if record is None or found is None:
            return original(self, "table")(tableName)
        _refuse_schema(record, tableName)
        return found

    def load(self: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
        record = record_of(self)
        if record is None or not record.is_format_of_ours(format):
            return original(self, "load")(path, format, schema, **options)
        for key, value in options.items():
            record.set(key, value)
        record.has_schema = record.has_schema or schema is not None
        return load_ours(record, path, by_name)

    def changes(self: Any, tableName: str) -> Any:
        record = record_of(self)
        if record is not None and by_name(record.session, tableName, {}) is not None:
            raise UnsupportedFeature(
                f"spark.read.changes is not there; read spark.table('{tableName}.changes') instead"
            )
        return original(self, "changes")(tableName)

    return {**RECORDING, "schema": _schema, "table": table, "load": load, "changes": changes}


def load_ours(record: Record, path: Any, by_name: ByName) -> DataFrame:
    """A table by its name in a catalog, or by the path of its folder or metadata file. Raises InvalidInput."""
    by_option = next((value for key, value in record.options.items() if key.lower() == "path"), None)
    given = path if path is not None else by_option
    if not isinstance(given, str):
        raise InvalidInput("format('iceberg') loads one table: a name such as lake.db.t, or a path")
    if by_option is not None and by_option != given:
        raise InvalidInput(f"load names {given!r}, and the option path {by_option!r}; keep one of them")
    _refuse_schema(record, given)
    options = {key: value for key, value in record.options.items() if key.lower() != "path"}
    if not is_path(given):
        found = by_name(record.session, given, options)
        if found is not None:
            return found
    return load_path(record.session, given, options)


def is_path(text: str) -> bool:
    return "/" in text or "\\" in text


def load_path(session: AttachedSession, path: str, options: dict[str, Any]) -> DataFrame:
    """A table without a catalog; `path#files` is one of its metadata tables."""
    location, _, picked = path.partition("#")
    stores, effects = stores_of(session)
    table = open_static(parse_from_user(location).text, stores=stores, effects=effects)
    selector = selector_of(picked) if picked else None
    if picked and selector is None:
        raise InvalidInput(f"{path}: {picked!r} is no metadata table, branch_…, tag_…, snapshot_id_… or at_timestamp_…")
    return frame_of(session, table, selection_of(session, selector, options))


def stores_of(session: AttachedSession) -> tuple[Stores, Any]:
    """The stores of the first catalog: paths are read with the same rights."""
    if not session.state.catalogs:
        raise InvalidInput("no catalog is attached, so there is no store to read the path with")
    backend = next(iter(session.state.catalogs.values())).backend
    return backend.stores, backend.effects
