"""DESCRIBE of tables, columns and views."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import LoadedView
from floeberg.catalogs.view_changes import view_query
from floeberg.errors import ColumnNotFound, InvalidInput, UnsupportedFeature
from floeberg.spark.ddl.property_names import CURRENT_SNAPSHOT, FORMAT, IDENTIFIER_FIELDS, SORT_ORDER
from floeberg.spark.ddl.table_details import detail_lines, term_text
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.results import rows
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spark.query.view_scope import QUERY_COLUMNS
from floeberg.spark.read.metadata_tables import metadata_columns
from floeberg.spark.read.named_tables import selected_schema, selection_of
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.statements.session_statements import DescribeTable
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS: Final = "col_name STRING NOT NULL, data_type STRING NOT NULL, comment STRING"
Line = tuple[str, str, str | None]


def describe_table(execution: Execution, statement: DescribeTable) -> DataFrame:
    identifier = execution.session.table_identifier(statement.table.parts)
    resolved = execution.resolve(identifier)
    if resolved.selector is not None and resolved.selector.kind == "metadata":
        return _describe_metadata_table(execution, statement, resolved)
    schema = shown_schema(execution, resolved)
    if statement.as_json:
        return _as_json(execution, identifier, schema)
    if statement.column:
        return _describe_column(execution, schema, statement.column)
    lines: list[Line] = [_column_line(schema, field.name) for field in schema.fields]
    if resolved.view is not None:
        if statement.extended:
            lines += _view_details(execution, identifier, resolved.view)
    else:
        metadata = _metadata(resolved)
        lines += _partitioning(metadata)
        if statement.extended:
            lines += _defaults(schema)
            lines += [("", "", ""), ("# Metadata Columns", "", ""), *_metadata_columns(metadata)]
            lines += _details(resolved, identifier)
    return rows(execution.spark, _COLUMNS, lines)


def _describe_metadata_table(execution: Execution, statement: DescribeTable, resolved: Resolved) -> DataFrame:
    schema = shown_schema(execution, resolved)
    if statement.as_json:
        return _as_json(execution, execution.session.table_identifier(statement.table.parts), schema)
    if statement.column:
        return _describe_column(execution, schema, statement.column)
    return rows(execution.spark, _COLUMNS, [_column_line(schema, field.name) for field in schema.fields])


def shown_schema(execution: Execution, resolved: Resolved) -> Schema:
    """The columns that a query of the name has: of a table, a tag or snapshot of it, a metadata table or a view."""
    if resolved.view is not None:
        return resolved.view.metadata.current_schema
    if resolved.table is None or resolved.selector is None:
        return _metadata(resolved).current_schema
    selection = selection_of(execution.session, resolved.selector)
    if selection.metadata_table is not None:
        return metadata_columns(resolved.table, selection.metadata_table)
    return selected_schema(resolved.table, selection)


def _column_line(schema: Schema, name: str) -> Line:
    field = schema.find(name)
    assert field is not None
    return (field.name, spark_type(field.type).simpleString(), field.doc)


def _describe_column(execution: Execution, schema: Schema, path: tuple[str, ...]) -> DataFrame:
    if len(path) > 1:
        raise UnsupportedFeature(
            f"DESCRIBE shows whole columns, not the nested field {'.'.join(path)}; describe {path[0]}"
        )
    field = schema.find(path[0], case_sensitive=False)
    if field is None:
        known = ", ".join(one.name for one in schema.fields[:30])
        raise ColumnNotFound(
            f"no column {path[0]!r}; the columns are: {known}", column=path[0], condition="COLUMN_NOT_FOUND"
        )
    lines = [
        ("col_name", schema.names[field.field_id]),
        ("data_type", spark_type(field.type).simpleString()),
        ("comment", field.doc or "NULL"),
    ]
    return rows(execution.spark, "info_name STRING NOT NULL, info_value STRING NOT NULL", lines)


def _partitioning(metadata: TableMetadata) -> list[Line]:
    """Identity partitions as Spark shows columns, other transforms by their text."""
    fields = metadata.default_spec.fields
    schema = metadata.current_schema
    if not fields:
        return []
    if all(isinstance(field.transform, IdentityTransform) for field in fields):
        named = [schema.names[field.source_ids[0]] for field in fields]
        header: list[Line] = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        return header + [_column_line(schema, name) for name in named]
    lines: list[Line] = [("", "", ""), ("# Partitioning", "", "")]
    for number, field in enumerate(fields):
        lines.append((f"Part {number}", term_text(field.transform, schema, field.source_ids[0]), ""))
    return lines


def _defaults(schema: Schema) -> list[Line]:
    shown = [field for field in schema.fields if field.write_default not in (UNSET, None) and not field.type.is_nested]
    if not shown:
        return []
    lines: list[Line] = [("", "", ""), ("# Column Default Values", "", "")]
    return lines + [
        (field.name, spark_type(field.type).simpleString(), literal_text(field.type, field.write_default))
        for field in shown
    ]


def _metadata_columns(metadata: TableMetadata) -> list[Line]:
    lines: list[Line] = [
        ("_spec_id", "int", ""),
        ("_partition", spark_type(unified_partition_type(metadata)).simpleString(), ""),
        ("_file", "string", ""),
        ("_pos", "bigint", ""),
        ("_deleted", "boolean", ""),
    ]
    if metadata.format_version >= 3:
        lines += [("_row_id", "bigint", ""), ("_last_updated_sequence_number", "bigint", "")]
    return lines


def _details(resolved: Resolved, identifier: TableIdentifier) -> list[Line]:
    lines = detail_lines(str(identifier), _metadata(resolved), table_properties(resolved))
    return [("", "", ""), ("# Detailed Table Information", "", ""), *lines]


def _view_details(execution: Execution, identifier: TableIdentifier, view: LoadedView) -> list[Line]:
    version = view.metadata.current_version
    properties = view_properties(view)
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in sorted(properties.items()) if key != "comment")
    query = view_query(execution.session.backend(identifier.catalog), view)
    lines: list[Line] = [("", "", ""), ("# Detailed View Information", "", "")]
    if "comment" in properties:
        lines.append(("Comment", properties["comment"], ""))
    columns = view.metadata.properties.get(QUERY_COLUMNS)
    names = columns.split(",") if columns else [field.name for field in view.metadata.current_schema.fields]
    return [
        *lines,
        ("View Catalog and Namespace", ".".join((identifier.catalog, *identifier.namespace)), ""),
        ("View Query Output Columns", "[" + ", ".join(names) + "]", ""),
        ("View Properties", f"[{shown}]", ""),
        ("View Text", query, ""),
        ("View Default Namespace", ".".join(version.default_namespace), ""),
    ]


def _as_json(execution: Execution, identifier: TableIdentifier, schema: Schema) -> DataFrame:
    document = {
        "table_name": identifier.name,
        "catalog_name": identifier.catalog,
        "namespace": list(identifier.namespace),
        "columns": [
            {
                "name": field.name,
                "type": {"name": spark_type(field.type).simpleString()},
                "nullable": not field.required,
                **({"comment": field.doc} if field.doc else {}),
            }
            for field in schema.fields
        ],
        "provider": "iceberg",
    }
    return rows(execution.spark, "json_metadata STRING NOT NULL", [(json.dumps(document),)])


def table_properties(resolved: Resolved) -> dict[str, str]:
    """The properties as Spark shows them, with those that are derived."""
    metadata = _metadata(resolved)
    file_format = metadata.properties.get("write.format.default", "parquet")
    snapshot = metadata.current_snapshot
    properties = {
        **metadata.properties,
        FORMAT: f"iceberg/{file_format}",
        CURRENT_SNAPSHOT: "none" if snapshot is None else str(snapshot.snapshot_id),
        "format-version": str(metadata.format_version),
    }
    if metadata.default_sort_order.is_sorted:
        properties[SORT_ORDER] = _sort_order(metadata)
    schema = metadata.current_schema
    if schema.identifier_field_ids:
        names = ",".join(schema.names[field_id] for field_id in schema.identifier_field_ids)
        properties[IDENTIFIER_FIELDS] = f"[{names}]"
    return properties


def _sort_order(metadata: TableMetadata) -> str:
    names = metadata.current_schema.names
    return ", ".join(
        f"{PartitionTerm(field.transform, names[field.source_ids[0]])} {field.direction.value.upper()} "
        f"{field.null_order.value.replace('-', ' ').upper()}"
        for field in metadata.default_sort_order.fields
    )


def view_properties(view: LoadedView) -> dict[str, str]:
    """A view's properties, with those that are derived."""
    version = view.metadata.current_version
    kept = {key: value for key, value in view.metadata.properties.items() if key != QUERY_COLUMNS}
    return {
        **kept,
        "format-version": str(view.metadata.format_version),
        "location": view.metadata.location,
        "provider": "iceberg",
        "create_engine_version": version.summary.get("engine-version", version.summary.get("engine-name", "")),
    }


def _metadata(resolved: Resolved) -> TableMetadata:
    if resolved.table is None:
        raise InvalidInput(f"{resolved.identifier} is no table")
    return resolved.table.state.metadata
