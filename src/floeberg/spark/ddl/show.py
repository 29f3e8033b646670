"""SHOW: the columns and the order are those that Spark gives for its own catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as st

from floeberg.arrow.columns.physical import physical_values
from floeberg.catalogs.base import LoadedView
from floeberg.errors import InvalidInput
from floeberg.inspect.partitions import partitions_table
from floeberg.inspect.source import Source
from floeberg.spark.ddl.describe import shown_schema, table_properties, view_properties
from floeberg.spark.ddl.namespaces import listed_tables, listed_views, namespace_or_current
from floeberg.spark.ddl.table_details import detail_lines, shown_properties, term_text
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.results import like, rows
from floeberg.spark.host.types.spark_types import spark_field
from floeberg.spark.host.views import temporary_views
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.partitions.specs import PartitionSpec, escape
from floeberg.spec.partitions.transforms import VoidTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.ddl.types import schema_to_ddl
from floeberg.sql.statements.session_statements import (
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowNamespaces,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
)
from floeberg.sql.statements.statements import Pairs
from floeberg.sql.text.lexer import quote_name, quote_string
from floeberg.sql.text.names import SESSION_CATALOG, TableIdentifier, display_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def show_catalogs(execution: Execution, statement: ShowCatalogs) -> DataFrame:
    theirs = [row[0] for row in execution.of("SHOW CATALOGS").pass_on().collect()]
    names = sorted({*theirs, *execution.session.state.catalogs})
    return rows(execution.spark, "catalog STRING NOT NULL", [(name,) for name in like(statement.pattern, names)])


def show_current_namespace(execution: Execution, statement: ShowCurrentNamespace) -> DataFrame:
    state = execution.session.state
    place = (state.current_catalog, display_name(state.current_namespace))
    return rows(execution.spark, "catalog STRING NOT NULL, namespace STRING NOT NULL", [place])


def show_namespaces(execution: Execution, statement: ShowNamespaces) -> DataFrame:
    """Without IN, those of the current catalog."""
    session = execution.session
    catalog, parent = session.state.current_catalog, tuple[str, ...]()
    if statement.parent is not None:
        found = namespace_or_current(execution, statement.parent.parts)
        catalog, parent = found.catalog, found.path
    if catalog == SESSION_CATALOG:
        return execution.pass_on()
    names = sorted(display_name(one) for one in session.backend(catalog).list_namespaces(parent))
    return rows(execution.spark, "namespace STRING NOT NULL", [(name,) for name in like(statement.pattern, names)])


def show_tables(execution: Execution, statement: ShowTables) -> DataFrame:
    found = namespace_or_current(execution, statement.namespace.parts if statement.namespace else None)
    namespace = display_name(found.path)
    if statement.kind == "views":
        names = like(statement.pattern, listed_views(execution, found))
        columns = "namespace STRING NOT NULL, viewName STRING NOT NULL, isTemporary BOOLEAN NOT NULL"
        return rows(execution.spark, columns, [(namespace, name, False) for name in names])
    names = like(statement.pattern, listed_tables(execution, found))
    columns = "namespace STRING NOT NULL, tableName STRING NOT NULL, isTemporary BOOLEAN NOT NULL"
    if statement.kind == "extended":
        identifiers = [TableIdentifier(found.catalog, (*found.path, name)) for name in names]
        extended = [(namespace, one.name, False, _information(execution.resolve(one))) for one in identifiers]
        return rows(execution.spark, f"{columns}, information STRING NOT NULL", extended)
    shown = [(namespace, name, False) for name in names]
    if found.catalog == SESSION_CATALOG:
        shown += [tuple(row) for row in execution.pass_on().collect()]
    else:
        shown += _temporary_views(execution, statement.pattern)
    return rows(execution.spark, columns, shown)


def _temporary_views(execution: Execution, pattern: str | None) -> list[tuple[str, str, bool]]:
    """Spark's temporary views, which it lists with the tables of any namespace."""
    return [("", name, True) for name in like(pattern, temporary_views(execution.spark))]


def _information(resolved: Resolved) -> str:
    assert resolved.table is not None
    identifier, metadata = resolved.identifier, resolved.table.state.metadata
    place = (
        f"Catalog: {identifier.catalog}\nNamespace: {display_name(identifier.namespace)}\nTable: {identifier.name}\n"
    )
    details = detail_lines(str(identifier), metadata, table_properties(resolved))
    lines = "".join(f"{key}: {value}\n" for key, value, _ in details if key not in ("Name", "Statistics"))
    schema = st.StructType([spark_field(field) for field in metadata.current_schema.fields])
    return f"{place}{lines}Schema: {schema.treeString()}\n\n"


def show_columns(execution: Execution, statement: ShowColumns) -> DataFrame:
    identifier = execution.session.table_identifier(statement.table.parts)
    resolved = execution.resolve(identifier)
    schema = shown_schema(execution, resolved)
    return rows(execution.spark, "col_name STRING NOT NULL", [(field.name,) for field in schema.fields])


def show_table_properties(execution: Execution, statement: ShowTableProperties) -> DataFrame:
    identifier = execution.session.table_identifier(statement.table.parts)
    resolved = execution.resolve(identifier)
    properties = view_properties(resolved.view) if resolved.view else table_properties(resolved)
    if statement.key is None:
        lines = sorted((properties if resolved.view else shown_properties(properties)).items())
    else:
        missing = f"Table {identifier} does not have property: {statement.key}"
        lines = [(statement.key, properties.get(statement.key, missing))]
    return rows(execution.spark, "key STRING NOT NULL, value STRING NOT NULL", lines)


def show_partitions(execution: Execution, statement: ShowPartitions) -> DataFrame:
    """The partitions that hold data, as `name=value/…` in the form of their paths."""
    identifier = execution.session.table_identifier(statement.table.parts)
    table = execution.resolve(identifier).table
    if table is None:
        raise InvalidInput(f"{identifier} is a view and has no partitions")
    metadata = table.state.metadata
    if metadata.default_spec.is_unpartitioned:
        raise InvalidInput(f"table {identifier} is not partitioned")
    source = Source(metadata, table.pointer.store_for, table.state.metadata_location)
    found = partitions_table(source, metadata.current_snapshot).column("partition").combine_chunks()
    members = unified_partition_type(metadata).members
    fields = [field for spec in metadata.partition_specs for field in spec.fields]
    # A field that was dropped is void in later specs of version 1.
    fields.sort(key=lambda field: not isinstance(field.transform, VoidTransform))
    transforms = {field.field_id: field.transform for field in fields}
    shown = [
        [
            f"{escape(member.name)}={escape(transforms[member.field_id].to_human_string(member.type, value))}"
            for value in physical_values(values, member.type)
        ]
        for values, member in zip(found.flatten(), members, strict=True)
    ]
    lines = sorted(("/".join(parts),) for parts in zip(*shown, strict=True))
    return rows(execution.spark, "partition STRING NOT NULL", lines)


def show_create_table(execution: Execution, statement: ShowCreateTable) -> DataFrame:
    identifier = execution.session.table_identifier(statement.table.parts)
    resolved = execution.resolve(identifier)
    if resolved.view is not None:
        text = _create_view_text(str(identifier), resolved.view)
    else:
        text = _create_table_text(str(identifier), resolved)
    return rows(execution.spark, "createtab_stmt STRING NOT NULL", [(text,)])


def _create_table_text(name: str, resolved: Resolved) -> str:
    assert resolved.table is not None
    metadata = resolved.table.state.metadata
    columns = ",\n  ".join(schema_to_ddl(Schema(field), defaults=True) for field in metadata.current_schema.fields)
    lines = [f"CREATE TABLE {name} (\n  {columns})", "USING iceberg"]
    if terms := _partition_terms(metadata.current_schema, metadata.default_spec):
        lines.append(f"PARTITIONED BY ({terms})")
    properties = table_properties(resolved)
    comment = properties.get("comment")
    if comment is not None:
        lines.append(f"COMMENT {quote_string(comment)}")
    lines.append(f"LOCATION {quote_string(metadata.location)}")
    lines.append(_properties_text(tuple(shown_properties(properties).items())))
    return "\n".join(lines) + "\n"


def _partition_terms(schema: Schema, spec: PartitionSpec) -> str:
    return ", ".join(term_text(field.transform, schema, field.source_ids[0]) for field in spec.fields)


def _properties_text(pairs: Pairs) -> str:
    inner = ",\n  ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in pairs)
    return f"TBLPROPERTIES (\n  {inner})"


def _create_view_text(name: str, view: LoadedView) -> str:
    metadata = view.metadata
    columns = ",\n  ".join(
        quote_name(field.name) + (f" COMMENT {quote_string(field.doc)}" if field.doc else "")
        for field in metadata.current_schema.fields
    )
    properties = view_properties(view)
    comment = properties.pop("comment", None)
    lines = [f"CREATE VIEW {name} (\n  {columns})"]
    if comment is not None:
        lines.append(f"COMMENT {quote_string(comment)}")
    if properties:
        lines.append(_properties_text(tuple(sorted(properties.items()))))
    query = next(one.sql for one in metadata.current_version.representations if one.sql is not None)
    return "\n".join(lines) + f"\nAS\n{query}\n"
