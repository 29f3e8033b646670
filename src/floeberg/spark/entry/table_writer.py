"""`df.writeTo` and `df.mergeInto` for tables that are ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.expr.nodes import TRUE
from floeberg.spark.ddl.create import NewTable, make_table, query_schema
from floeberg.spark.ddl.property_names import LOCATION
from floeberg.spark.dml.insert import column_condition, prepared_write, target_table
from floeberg.spark.dml.merge.into_writer import MergeIntoWriter
from floeberg.spark.host.errors.spark_errors import methods_raise_spark_errors
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.write.commands import append, overwrite, overwrite_matching, overwrite_partitions
from floeberg.spark.write.options import is_dynamic
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMN: Final = re.compile(r"Column<'(.*)'>", re.DOTALL)
_TRANSFORM: Final = re.compile(r"(\w+\((?:\d+, )?)(.*)\)", re.DOTALL)


@methods_raise_spark_errors
class TableWriter:
    """What `df.writeTo(name)` gives for a table of ours: the methods of PySpark's DataFrameWriterV2."""

    def __init__(self, session: AttachedSession, frame: DataFrame, identifier: TableIdentifier) -> None:
        self._session = session
        self._frame = frame
        self._identifier = identifier
        self._options: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._partitioning: tuple[PartitionTerm, ...] = ()
        self._provider: str | None = None

    def using(self, provider: str) -> Self:
        self._provider = provider
        return self

    def option(self, key: str, value: Any) -> Self:
        self._options[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return self

    def options(self, **options: Any) -> Self:
        for key, value in options.items():
            self.option(key, value)
        return self

    def tableProperty(self, property: str, value: str) -> Self:
        self._properties[property] = str(value)
        return self

    def partitionedBy(self, col: Any, *cols: Any) -> Self:
        names = self._frame.columns
        self._partitioning = tuple(parse_partition_term(_term(one, names)) for one in (col, *cols))
        return self

    def clusterBy(self, *columns: str) -> Self:
        raise UnsupportedFeature("clusterBy is not there; sort with ALTER TABLE … WRITE ORDERED BY")

    def create(self) -> None:
        """Raises TableAlreadyExists."""
        self._make(create=True)

    def replace(self) -> None:
        """Raises TableNotFound."""
        self._make(create=False, replaces=True)

    def createOrReplace(self) -> None:
        self._make(create=True, replaces=True)

    def _make(self, *, create: bool, replaces: bool = False) -> None:
        new = NewTable(
            schema=query_schema(self._session, self._identifier, self._frame.schema),
            partitioning=self._partitioning,
            properties={key: value for key, value in self._properties.items() if key != LOCATION},
            location=self._properties.get(LOCATION),
            create=create,
            replace=replaces,
            provider=self._provider,
        )
        make_table(self._session, self._identifier, new, self._frame, options=self._options)

    def append(self) -> None:
        """Raises TableNotFound, and InvalidInput when the columns do not fit."""
        append(self._frame, self._write())

    def overwrite(self, condition: Any) -> None:
        """Replaces the rows that match a condition on whole files, such as one on partition columns. A condition that metadata
        cannot answer is evaluated on the table's rows first."""
        where = column_condition(self._session, target_table(self._session, self._identifier), condition)
        if where is TRUE and is_dynamic(self._options):
            overwrite_partitions(self._frame, self._write())
        elif where is None:
            overwrite_matching(self._frame, self._write(), condition)
        else:
            overwrite(self._frame, self._write(), where=where)

    def overwritePartitions(self) -> None:
        if is_dynamic(self._options) is False:
            raise InvalidInput(f"{self._identifier}: overwritePartitions is dynamic; leave overwrite-mode=static out")
        overwrite_partitions(self._frame, self._write())

    def _write(self) -> Any:
        return prepared_write(self._session, target_table(self._session, self._identifier), self._options)


def table_writer(session: AttachedSession, frame: DataFrame, name: str) -> TableWriter | None:
    """The writer when the name is ours."""
    identifier = written_table(session, name)
    return None if identifier is None else TableWriter(session, frame, identifier)


def merge_writer(session: AttachedSession, frame: DataFrame, name: str, condition: Any) -> MergeIntoWriter | None:
    """What `df.mergeInto` gives when the target is ours."""
    return None if written_table(session, name) is None else MergeIntoWriter(session, frame, name, condition)


def written_table(session: AttachedSession, name: str) -> TableIdentifier | None:
    """The identifier of a table that is written, perhaps created; None when the name is Spark's."""
    if not session.names().may_mention(name):
        return None
    found = session.names(creates=True).table(parse_parts(name))
    return found if found is not None and found.catalog else None


def _term(column: Any, names: Sequence[str]) -> str:
    """A column or a transform such as `bucket(4, "id")` as text; a Column shows the names of columns without quotes."""
    if isinstance(column, str):
        return column
    match = _COLUMN.fullmatch(str(column))
    text = match[1] if match else str(column)
    if (name := _column_name(text, names)) is not None:
        return quote_name(name)
    call = _TRANSFORM.fullmatch(text)
    name = None if call is None else _column_name(call[2], names)
    return text if call is None or name is None else f"{call[1]}{quote_name(name)})"


def _column_name(text: str, names: Sequence[str]) -> str | None:
    """The column that a Column's text shows: as it is, or with backquotes around it but none doubled."""
    bare = text[1:-1] if text.startswith("`") and text.endswith("`") else text
    return next((one for one in (text, bare) if one in names), None)
