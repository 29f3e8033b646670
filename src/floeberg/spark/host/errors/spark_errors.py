"""Our errors as Spark's users know them: each is also a PySpark exception, with a condition and an SQLSTATE.

The translation happens once, where a call of a user's leaves us: `except AnalysisException` and `except TableNotFound`
catch the same error. The message stays ours. Errors of Spark over text that we rewrote are put into the user's words
by `spark/host/errors/user_text.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pyspark.errors import (
    AnalysisException,
    ParseException,
    PySparkException,
    QueryContext,
    QueryContextType,
    SparkRuntimeException,
)

from floeberg import errors as ours
from floeberg.errors import FloebergError
from floeberg.spark.host.calls.session_checks import is_stopped, session_behind, stopped_session
from floeberg.spark.host.errors.user_text import UserText, as_user_wrote, place_of, shown_at

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True, slots=True)
class SparkCondition:
    """Spark's name for an error: condition and SQLSTATE."""

    name: str
    sql_state: str
    kind: type[PySparkException] = AnalysisException


_BY_CLASS: Final[dict[type[FloebergError], SparkCondition]] = {
    ours.TableNotFound: SparkCondition("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ours.ViewNotFound: SparkCondition("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ours.NamespaceNotFound: SparkCondition("SCHEMA_NOT_FOUND", "42704"),
    ours.SnapshotNotFound: SparkCondition("FLOEBERG_SNAPSHOT_NOT_FOUND", "42704"),
    ours.RefNotFound: SparkCondition("FLOEBERG_REF_NOT_FOUND", "42704"),
    ours.TableAlreadyExists: SparkCondition("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    ours.ViewAlreadyExists: SparkCondition("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    ours.NamespaceAlreadyExists: SparkCondition("SCHEMA_ALREADY_EXISTS", "42P06"),
    ours.AlreadyExists: SparkCondition("FLOEBERG_ALREADY_EXISTS", "42710"),
    ours.NamespaceNotEmpty: SparkCondition("SCHEMA_NOT_EMPTY", "2BP01"),
    ours.ColumnNotFound: SparkCondition("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ours.ColumnAlreadyExists: SparkCondition("COLUMN_ALREADY_EXISTS", "42711"),
    ours.InvalidInput: SparkCondition("FLOEBERG_INVALID_INPUT", "42000"),
    ours.UnsupportedFeature: SparkCondition("UNSUPPORTED_FEATURE", "0A000"),
    ours.CommitUnknown: SparkCondition("FLOEBERG_COMMIT_UNKNOWN", "08007", SparkRuntimeException),
    ours.CommitError: SparkCondition("FLOEBERG_COMMIT_CONFLICT", "40001", SparkRuntimeException),
    ours.StorageError: SparkCondition("FLOEBERG_STORAGE_ERROR", "58030", SparkRuntimeException),
    ours.Unauthorized: SparkCondition("FLOEBERG_UNAUTHORIZED", "28000", SparkRuntimeException),
    ours.Forbidden: SparkCondition("FLOEBERG_FORBIDDEN", "42501", SparkRuntimeException),
    ours.CatalogError: SparkCondition("FLOEBERG_CATALOG_ERROR", "58000", SparkRuntimeException),
    ours.ExecutorLost: SparkCondition("FLOEBERG_EXECUTOR_LOST", "58000", SparkRuntimeException),
    ours.SecurityError: SparkCondition("FLOEBERG_SECURITY_ERROR", "42501", SparkRuntimeException),
    ours.NotFound: SparkCondition("FLOEBERG_NOT_FOUND", "42704", SparkRuntimeException),
    ours.FormatError: SparkCondition("FLOEBERG_FORMAT_ERROR", "22000", SparkRuntimeException),
    ours.FloebergError: SparkCondition("FLOEBERG_ERROR", "58000", SparkRuntimeException),
}
"""By the first class of an error's own that is here. Conditions that Spark does not have begin with FLOEBERG_."""

_NAMED: Final = {
    one.name: one
    for one in (
        SparkCondition("COLUMN_NOT_DEFINED_IN_TABLE", "42703"),
        SparkCondition("COLUMN_NOT_FOUND", "42703"),
        SparkCondition("DUPLICATE_KEY", "23505", ParseException),
        SparkCondition("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "KD000"),
        SparkCondition("INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS", "KD000"),
        SparkCondition("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "KD000"),
        SparkCondition("INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "21S01"),
        SparkCondition("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", "21S01"),
        SparkCondition("MERGE_CARDINALITY_VIOLATION", "23K01", SparkRuntimeException),
        SparkCondition("NON_PARTITION_COLUMN", "42000"),
        SparkCondition("NOT_A_CONSTANT_STRING.NOT_CONSTANT", "42601"),
        SparkCondition("NOT_SUPPORTED_CHANGE_COLUMN", "0A000"),
        SparkCondition("ROUTINE_NOT_FOUND", "42883"),
        SparkCondition("UNSUPPORTED_DATATYPE", "0A000", ParseException),
    )
}
"""Conditions that an error names itself, in its context."""

_SYNTAX: Final = SparkCondition("PARSE_SYNTAX_ERROR", "42601", ParseException)
_UNSUPPORTED_SYNTAX: Final = SparkCondition("UNSUPPORTED_FEATURE", "0A000", ParseException)
_inside: Final[ContextVar[bool]] = ContextVar("floeberg_inside", default=False)
_STATEMENT: Final = "_floeberg_statement"


class SparkError(PySparkException):  # type: ignore[misc]
    """The base of all translated errors, beside a class of PySpark's and, for errors of ours, one of ours."""

    def getMessage(self) -> str:
        return str(self)

    def getCondition(self) -> str | None:
        return self._facts.name or None

    def getSqlState(self) -> str | None:
        return self._facts.sql_state or None

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[object, ...]:
        kind, base = self._made_of
        context = dict(self.context) if isinstance(self, FloebergError) else {}
        facts = (self._facts.name, self._facts.sql_state)
        return _made, (kind, base, facts, self._message, self._text, context, self._messageParameters, self._contexts)

    _facts: SparkCondition
    _text: str
    _made_of: tuple[type[FloebergError] | None, type[PySparkException]]


_classes: Final[dict[tuple[type | None, type], type[SparkError]]] = {}


def spark_class(kind: type[FloebergError] | None, base: type[PySparkException]) -> type[SparkError]:
    """The class that is both: it has the name of ours, where there is one."""
    known = _classes.get((kind, base))
    if known is not None:
        return known
    bases = (SparkError, base) if kind is None else (SparkError, kind, base)
    name = (kind or base).__name__
    made: Any = type(name, bases, {"_made_of": (kind, base), "__module__": __name__, "__doc__": (kind or base).__doc__})
    return _classes.setdefault((kind, base), made)


def _made(
    kind: type[FloebergError] | None,
    base: type[PySparkException],
    facts: tuple[str | None, str | None],
    message: str,
    text: str,
    context: Mapping[str, Any],
    parameters: dict[str, str] | None = None,
    contexts: list[QueryContext] | None = None,
) -> SparkError:
    """Makes a translated error, also when it is unpickled."""
    made: Any = spark_class(kind, base)
    found = made.__new__(made, message)
    PySparkException.__init__(found, message=message, messageParameters=parameters, contexts=contexts)
    if kind is not None:
        found.message = message
        found.context = dict(context)
    found.args = (text,)
    found._facts = SparkCondition(facts[0] or "", facts[1] or "", base)
    found._text = text
    error: SparkError = found
    return error


class StatementContext(QueryContext):  # type: ignore[misc]
    """The part of the user's statement that an error is about."""

    def __init__(self, statement: str, start: int, stop: int) -> None:
        self._statement = statement
        self._start = start
        self._stop = stop

    def contextType(self) -> QueryContextType:
        return QueryContextType.SQL

    def objectType(self) -> str:
        return ""

    def objectName(self) -> str:
        return ""

    def startIndex(self) -> int:
        return self._start

    def stopIndex(self) -> int:
        return self._stop

    def fragment(self) -> str:
        return self._statement[self._start : self._stop + 1]

    def callSite(self) -> str:
        return ""

    def summary(self) -> str:
        return shown_at(self._statement, self._start).strip("\n")


def quote_statement(target: object, statement: str) -> None:
    """Gives an error, or the DataFrame of rows, the statement that the user wrote, which messages then quote; the last call,
    the outermost, counts."""
    setattr(target, _STATEMENT, statement)


def statement_of(target: object) -> str | None:
    """The statement that the user wrote for a DataFrame; None where it is not known."""
    found = getattr(target, "__dict__", {}).get(_STATEMENT)
    return found if isinstance(found, str) else None


def to_spark_error(error: FloebergError) -> SparkError:
    """The error as one of Spark's kind."""
    statement = getattr(error, _STATEMENT, None) or error.context.get("text")
    message, where = error.message, None
    if isinstance(statement, str) and "position" in error.context:
        message, where = place_of(error, statement)
    facts = _condition_of(error)
    text = f"[{facts.name}] {message}{'' if message.endswith('.') else '.'} SQLSTATE: {facts.sql_state}"
    contexts = []
    if isinstance(statement, str) and where is not None:
        text += shown_at(statement, where)
        contexts.append(StatementContext(statement, where, where))
    kind = next(one for one in type(error).__mro__ if one.__module__ == ours.__name__)
    return _made(
        kind, facts.kind, (facts.name, facts.sql_state), message, text, error.context, _parameters(error), contexts
    )


def _condition_of(error: FloebergError) -> SparkCondition:
    named = _NAMED.get(str(error.context.get("condition")))
    if named is not None:
        return named
    found = next(_BY_CLASS[kind] for kind in type(error).__mro__ if kind in _BY_CLASS)
    if "position" in error.context and found.kind is AnalysisException:
        return _UNSUPPORTED_SYNTAX if isinstance(error, ours.UnsupportedFeature) else _SYNTAX
    return found


def _parameters(error: FloebergError) -> dict[str, str]:
    return {str(key): str(value) for key, value in error.context.items() if key != "condition"}


def cleaned(error: PySparkException) -> PySparkException:
    """An error of Spark's without the names that we put into the statement; unchanged if it shows none."""
    found: UserText | None = as_user_wrote(error, getattr(error, _STATEMENT, None))
    if found is None:
        return error
    base = next(kind for kind in type(error).__mro__ if kind.__module__ == PySparkException.__module__)
    contexts: list[QueryContext] = []
    if found.start is not None and found.statement is not None:
        contexts.append(StatementContext(found.statement, found.start, found.stop or found.start))
    facts = (found.condition, error.getSqlState())
    return _made(None, base, facts, found.message, found.text, {}, found.parameters, contexts)


def with_hint(error: PySparkException, hint: str) -> PySparkException:
    """An error of Spark's with a sentence of ours."""
    base = next(kind for kind in type(error).__mro__ if kind.__module__ == PySparkException.__module__)
    first = str(error).partition("\n")[0].rstrip(";")
    parameters = dict(error.getMessageParameters() or {})
    return _made(None, base, (error.getCondition(), error.getSqlState()), first, f"{first}\n{hint}", {}, parameters)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raises errors as Spark's kind at the outermost call; inside another call of ours they stay as they are."""
    if _inside.get():
        yield
        return
    token = _inside.set(True)
    try:
        yield
    except SparkError:
        raise
    except FloebergError as error:
        raise to_spark_error(error) from error
    except PySparkException as error:
        found = cleaned(error)
        if found is error:
            raise
        raise found from None
    finally:
        _inside.reset(token)


def raises_spark_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with errors of Spark's kind."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with spark_errors():
            try:
                return method(*args, **kwargs)
            except Exception as error:
                spark = session_behind(args[0])
                if isinstance(error, AttributeError) and method.__name__ == "__getattr__":
                    raise
                if spark is not None and is_stopped(spark):
                    raise stopped_session() from error
                raise

    return call


def methods_raise_spark_errors(kind: _Class) -> _Class:
    """Decorates a class that stands for one of PySpark's: its public methods raise errors of Spark's kind."""
    for name, found in list(vars(kind).items()):
        if callable(found) and not isinstance(found, type) and not re.match("_", name):
            setattr(kind, name, raises_spark_errors(found))
    return kind
