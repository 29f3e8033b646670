"""`floeberg schema`: a table's columns."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.schemas.schema_json import schema_to_json
from floeberg.spec.types import UNSET, ListType, MapType, NestedField, StructType

IdOption = Annotated[int | None, typer.Option("--id", metavar="ID", help="The schema of this id, not the current one.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every schema that the table had.")]


@with_shared_options
def schema(
    target: Target, printer: Printer, table: TableArgument, schema_id: IdOption = None, every: AllOption = False
) -> None:
    """Show the columns of a table, nested ones too, with their ids.

    floeberg schema db.orders

    floeberg schema db.orders --all
    """
    if every and schema_id is not None:
        raise InvalidInput("--all and --id exclude each other")
    metadata = target.table(table).metadata
    shown = list(metadata.schemas) if every else [metadata.schema(schema_id)]
    if printer.as_json:
        documents = [schema_to_json(one) for one in shown]
        printer.json(documents if every else documents[0])
        return
    for at, one in enumerate(shown):
        if every:
            current = ", the current one" if one.schema_id == metadata.current_schema_id else ""
            printer.line(f"{'' if at == 0 else chr(10)}schema {one.schema_id}{current}", style="bold")
        printer.table(("id", "column", "type", "required", "comment"), column_rows(one), numbers=("id",))


def column_rows(shown: Schema) -> list[tuple[object, ...]]:
    """A row for each column at any depth."""
    identifiers = shown.identifier_field_ids
    return [
        (
            field.field_id,
            name + (" (identifier)" if field.field_id in identifiers else ""),
            short_type(field),
            field.required,
            field.doc,
        )
        for field, name in walk_fields(shown.fields)
    ]


def short_type(field: NestedField) -> str:
    """The type without its children, which have rows of their own, and the default."""
    kinds: dict[type, str] = {StructType: "struct", ListType: "list", MapType: "map"}
    name = kinds.get(type(field.type), str(field.type))
    return name if field.initial_default is UNSET else f"{name} default {field.initial_default}"


def field_json(field: NestedField) -> dict[str, object]:
    """A column for programs."""
    return {
        "id": field.field_id,
        "name": field.name,
        "type": str(field.type),
        "required": field.required,
        "doc": field.doc,
    }
