"""The text of a view in a scope of its own: names resolve as where the view was created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql.types import StructType

from floeberg.catalogs.base import LoadedView
from floeberg.catalogs.view_changes import view_query
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.types.spark_types import spark_field
from floeberg.spark.host.views import Place, TextView, ViewColumns, ViewScope, is_temporary_view
from floeberg.sql.queries.references import References, Rewrite, find_references
from floeberg.sql.text.byte_strings import may_hold_invalid_utf8
from floeberg.sql.text.names import GLOBAL_VIEWS, SESSION_CATALOG, TableIdentifier, quoted, view_key

MAX_DEPTH: Final = 50
QUERY_COLUMNS: Final = "spark.query-column-names"
"""The property of a view that holds its query's own column names, where the view renames them."""
SCHEMA_MODE: Final = "view.schemaMode"
"""The property of a view that holds its schema mode, in Spark's words."""


@dataclass(frozen=True, slots=True)
class ViewText:
    """A view's query, prepared to run on its own."""

    execution: Execution
    references: References
    columns: ViewColumns


def view_text(execution: Execution, resolved: Resolved) -> ViewText:
    """The query of a view. The statement's parameters and DataFrames are not visible there. Raises InvalidInput for a view
    that reads itself, UnsupportedFeature for a text whose names cannot be resolved so."""
    identifier = resolved.identifier
    if identifier in execution.inside:
        raise InvalidInput(f"view {shown_name(identifier)} reads itself")
    if len(execution.inside) >= MAX_DEPTH:
        raise InvalidInput(f"views are nested deeper than {MAX_DEPTH}: {shown_name(execution.inside[0])}")
    if isinstance(resolved.remembered, TextView):
        view = resolved.remembered
        text, scope, columns = view.text, view.scope, view.columns
    else:
        assert resolved.view is not None
        text, scope, columns = _of_catalog(execution.session, identifier, resolved.view)
    execution.read.add(identifier)
    text = execution.session.with_current_place(text)
    part = replace(
        execution,
        sql=text,
        args=None,
        kwargs={},
        scope=scope,
        inside=(*execution.inside, identifier),
        has_invalid_utf8=execution.has_invalid_utf8 or may_hold_invalid_utf8(text),
    )
    references = find_references(text, part.names())
    if references.query is None and scope.place != execution.session.place():
        raise UnsupportedFeature(
            f"view {shown_name(identifier)}: its query cannot be followed, so it can only be read where it was made; "
            f"USE {quoted((scope.place.catalog, *scope.place.namespace))} first"
        )
    return ViewText(part, references, columns)


def view_columns(session: AttachedSession, resolved: Resolved) -> ViewColumns:
    """The columns of a view that has a text, as they were when it was made."""
    if isinstance(resolved.remembered, TextView):
        return resolved.remembered.columns
    assert resolved.view is not None
    return _of_catalog(session, resolved.identifier, resolved.view)[2]


def _of_catalog(
    session: AttachedSession, identifier: TableIdentifier, view: LoadedView
) -> tuple[str, ViewScope, ViewColumns]:
    version, properties = view.metadata.current_version, view.metadata.properties
    place = Place(version.default_catalog or identifier.catalog, tuple(version.default_namespace))
    if place.catalog == SESSION_CATALOG and not place.namespace:
        place = Place(SESSION_CATALOG, ("default",))
    fields = [spark_field(field) for field in view.metadata.current_schema.fields]
    given = properties.get(QUERY_COLUMNS)
    names = tuple(given.split(",")) if given else tuple(field.name for field in fields)
    if len(names) != len(fields):
        names = tuple(field.name for field in fields)  # a name with a comma
    mode = properties.get(SCHEMA_MODE, "COMPENSATION")
    text = view_query(session.backend(identifier.catalog), view)
    return text, ViewScope(place), ViewColumns(names, StructType(fields), mode, by_position=given is None)


def shown_name(identifier: TableIdentifier) -> str:
    return str(identifier) if identifier.catalog else ".".join(identifier.path)


def place_rewrites(execution: Execution, references: References) -> list[Rewrite]:
    """Spark's own tables in a view's text by their full names; nothing for other statements."""
    scope = execution.scope
    if scope is None:
        return []
    rewrites: list[Rewrite] = []
    for relation in references.walk.others:
        parts, place = relation.name.parts, scope.place
        if len(parts) == 1:
            if parts[0].lower() in scope.temporary and is_temporary_view(execution.spark, parts[0]):
                continue
            full = (place.catalog, *place.namespace, *parts)
        elif len(parts) == 2 and _is_elsewhere(execution.session, parts, place):
            full = (place.catalog, *parts)
        else:
            continue
        rewrites.append(Rewrite(relation.name.start, relation.name.end, quoted(full)))
    return rewrites


def _is_elsewhere(session: AttachedSession, parts: tuple[str, ...], place: Place) -> bool:
    """Whether `db.t` would be looked up in another catalog than the view's; a file by its path stays as it is."""
    first = parts[0].lower()
    if first in (GLOBAL_VIEWS, SESSION_CATALOG) or session.spark.conf.get(f"spark.sql.catalog.{parts[0]}", None):
        return False
    return session.spark_place().catalog != place.catalog


def temporary_views_of(session: AttachedSession, references: References) -> frozenset[str]:
    """The keys of the temporary views, ours and Spark's, that a query reads."""
    found = {".".join(table.identifier.path) for table in references.tables if not table.identifier.catalog}
    for relation in references.walk.others:
        key = view_key(relation.name.parts)
        if key is not None and (key.startswith(f"{GLOBAL_VIEWS}.") or is_temporary_view(session.spark, key)):
            found.add(key)
    return frozenset(found)


def catalogs_of(references: References, place: Place) -> Sequence[str]:
    """The catalogs that a view's text reads from, that of its place among them."""
    return [place.catalog, *(table.identifier.catalog for table in references.tables if table.identifier.catalog)]
