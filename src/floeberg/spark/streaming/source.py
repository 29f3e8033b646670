"""The streaming source: a Python data source whose planning runs in a process of its own, so that it opens the catalog again
there, and whose rows are read by Spark's Python workers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from floeberg.arrow.scan.changelog import changelog_schema
from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.recipe import CatalogRecipe, recipe_of
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.scan.change_form import TRUE_CHANGES
from floeberg.scan.streaming import StreamOffset, StreamOptions, StreamPlanner
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.types.spark_types import spark_field
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spark.read.metadata_tables import CHANGES
from floeberg.spark.workers.changelog import ChangeReader
from floeberg.spark.workers.scan import SplitReader
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH

SOURCE_NAME: Final = "floeberg_table_stream"
_STREAM: Final = "stream"
_LIMITS: Final = ("streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch")
_FLAGS: Final = ("streaming-skip-delete-snapshots", "streaming-skip-overwrite-snapshots")
_CHANGES: Final = "streaming-changes"
_KNOWN: Final = frozenset(
    {*_LIMITS, *_FLAGS, _CHANGES, "stream-from-timestamp", "stream-from-snapshot-id", "streaming-on-expired", "branch"}
)
try:
    _admission: Any = importlib.import_module("pyspark.sql.streaming.datasource")
except ModuleNotFoundError:
    _admission = None
"""PySpark's words for how much a Python source shall read, from 4.2 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDefinition:
    """What the planning process needs to know: the catalog, the table, the schema that the query keeps, the options."""

    recipe: CatalogRecipe
    namespace: tuple[str, ...]
    name: str
    schema_id: int
    options: StreamOptions

    def to_text(self) -> str:
        document = {
            "recipe": self.recipe.to_json(),
            "namespace": list(self.namespace),
            "name": self.name,
            "schema-id": self.schema_id,
            "options": {key: getattr(self.options, key) for key in inspect.signature(StreamOptions).parameters},
        }
        return msgspec.json.encode(document).decode()

    @classmethod
    def from_text(cls, text: str) -> StreamDefinition:
        document = msgspec.json.decode(text)
        return cls(
            recipe=CatalogRecipe.from_json(document["recipe"]),
            namespace=tuple(document["namespace"]),
            name=document["name"],
            schema_id=document["schema-id"],
            options=StreamOptions(**document["options"]),
        )

    def load(self) -> LoadedTable:
        return self.recipe.open().load_table(Identifier(self.namespace, self.name))


def stream_definition(session: AttachedSession, resolved: Resolved, options: Mapping[str, str]) -> StreamDefinition:
    """The stream that a reader asks for. Raises InvalidInput for options that a stream does not know, UnsupportedFeature for
    what another process cannot reach."""
    assert resolved.table is not None
    selector, of_changes = resolved.selector, False
    if selector is not None and selector.kind == "metadata" and selector.value == CHANGES:
        selector, of_changes = None, True
    if selector is not None and selector.kind != "branch":
        raise InvalidInput(
            f"{resolved.identifier}: a stream reads a table, its changes or a branch, not a {selector.kind}"
        )
    identifier = session.key(resolved.identifier)
    recipe = recipe_of(session.backend(resolved.identifier.catalog), what="a streaming read")
    return StreamDefinition(
        recipe=recipe,
        namespace=tuple(identifier.namespace),
        name=identifier.name,
        schema_id=resolved.table.state.metadata.current_schema_id,
        options=_options(options, branch=None if selector is None else selector.value, of_changes=of_changes),
    )


def _options(given: Mapping[str, str], *, branch: str | None, of_changes: bool) -> StreamOptions:
    options = {key.lower(): str(value) for key, value in given.items() if key.lower() != "path"}
    unknown = sorted(options.keys() - _KNOWN)
    if unknown:
        raise InvalidInput(f"unknown option {unknown[0]!r} of a streaming read; known are {', '.join(sorted(_KNOWN))}")
    limits = [key for key in _LIMITS if key in options]
    if limits and _admission is None:
        raise UnsupportedFeature(f"{limits[0]} needs PySpark 4.2 or newer, which asks a Python source how much to read")
    if "branch" in options and branch not in (None, options["branch"]):
        raise InvalidInput(f"the name says branch {branch!r}, and the option {options['branch']!r}; keep one")
    if "stream-from-timestamp" in options and "stream-from-snapshot-id" in options:
        raise InvalidInput("a stream starts at stream-from-timestamp or at stream-from-snapshot-id; keep one")
    changes = of_changes or _flag(options, _CHANGES)
    if skipped := [key for key in _FLAGS if changes and _flag(options, key)]:
        raise InvalidInput(f"a stream of changes has what snapshots delete and overwrite; leave {skipped[0]} out")
    on_expired = options.get("streaming-on-expired", "fail").lower()
    if on_expired not in ("fail", "oldest"):
        raise InvalidInput(f"streaming-on-expired is fail or oldest, not {on_expired!r:.60}")
    return StreamOptions(
        branch=branch or options.get("branch", MAIN_BRANCH),
        from_snapshot_id=_number(options, "stream-from-snapshot-id"),
        from_timestamp_ms=_number(options, "stream-from-timestamp"),
        max_files=_number(options, _LIMITS[0], least=1),
        max_rows=_number(options, _LIMITS[1], least=1),
        skip_deletes=_flag(options, _FLAGS[0]),
        skip_overwrites=_flag(options, _FLAGS[1]),
        changes=changes,
        resumes_at_oldest=on_expired == "oldest",
    )


def _number(options: Mapping[str, str], key: str, *, least: int = 0) -> int | None:
    if key not in options:
        return None
    if not options[key].isdecimal() or int(options[key]) < least:
        raise InvalidInput(f"{key} is a number from {least} on, not {options[key]!r:.60}")
    return int(options[key])


def _flag(options: Mapping[str, str], key: str) -> bool:
    text = options.get(key, "false").lower()
    if text not in ("true", "false"):
        raise InvalidInput(f"{key} is true or false, not {text!r:.60}")
    return text == "true"


class TableStreamSource(DataSource):  # type: ignore[misc]
    """What `spark.readStream` of a table becomes; the option `stream` is a StreamDefinition."""

    @classmethod
    def name(cls) -> str:
        return SOURCE_NAME

    def schema(self) -> StructType:
        definition = StreamDefinition.from_text(self.options[_STREAM])
        schema = definition.load().state.metadata.schema(definition.schema_id)
        if definition.options.changes:
            schema = changelog_schema(schema)
        return StructType([spark_field(field) for field in schema.fields])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return TableStreamReader(StreamDefinition.from_text(self.options[_STREAM]))


class FilesPartition(InputPartition):  # type: ignore[misc]
    """The files of one part, and how they are read."""

    def __init__(self, reader: SplitReader | ChangeReader) -> None:
        super().__init__(None)
        self.reader = reader


_AvailableNow: Any = object if _admission is None else _admission.SupportsTriggerAvailableNow


class TableStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """Plans in the process that Spark keeps for the query."""

    def __init__(self, definition: StreamDefinition) -> None:
        self._definition = definition
        self._table: LoadedTable | None = None
        self._planner: StreamPlanner | None = None
        self._planned_up_to: StreamOffset | None = None
        self._until: int | None = None
        self._stops = False

    def initialOffset(self) -> dict[str, Any]:
        return self._planned().initial().to_json()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """PySpark before 4.2 gives neither start nor limit: then all there is is read, from the last batch of this run on. The
        start snapshot may have expired since, and ordinals count from the start."""
        planner = self._planned()
        begun = (self._planned_up_to or planner.initial()) if start is None else StreamOffset.from_json(start)
        planner.check_table(begun)
        if self._stops and self._until is None:
            return begun.to_json()  # the table had no snapshot when the query began
        limited = limit is not None and not isinstance(limit, _admission.ReadAllAvailable)
        return planner.advance(begun, until=self._until, limited=limited).to_json()

    def getDefaultReadLimit(self) -> Any:
        options = self._definition.options
        if options.max_files is not None:
            return _admission.ReadMaxFiles(options.max_files)
        if options.max_rows is not None:
            return _admission.ReadMaxRows(options.max_rows)
        return _admission.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        head = self._planned().head
        self._stops, self._until = True, None if head is None else head.snapshot_id

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        planner = self._planned()
        assert self._table is not None
        goal = StreamOffset.from_json(end)
        parts: Sequence[Any] = planner.between(StreamOffset.from_json(start), goal)
        self._planned_up_to = goal
        schema = self._schema()
        files = table_files(self._table, schema)
        if self._definition.options.changes:
            return [
                FilesPartition(ChangeReader(table=files, groups=(part,), projection=schema, form=TRUE_CHANGES))
                for part in parts
            ]
        return [FilesPartition(SplitReader(table=files, groups=(part,), projection=schema)) for part in parts]

    def commit(self, end: dict[str, Any]) -> None:
        if self._planner is not None:
            self._planner.forget_before(StreamOffset.from_json(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from partition.reader(iter([pa.record_batch({"number": [0]})]))

    def _schema(self) -> Schema:
        assert self._table is not None
        return self._table.state.metadata.schema(self._definition.schema_id)

    def _planned(self) -> StreamPlanner:
        """A planner on the table's newest state."""
        if self._table is None:
            self._table = self._definition.load()
        self._table = LoadedTable(self._table.pointer, self._table.pointer.refresh())
        state, known = self._table.state, {} if self._planner is None else self._planner.known
        self._planner = StreamPlanner(
            identifier=state.identifier,
            metadata=state.metadata,
            options=self._definition.options,
            store_for=self._table.pointer.store_for,
            known=known,
        )
        return self._planner
