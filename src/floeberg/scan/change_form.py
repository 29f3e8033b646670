"""The forms of a changelog: with carried-over rows or without, with update images, or as net changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import VariantType


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeForm:
    """Which rows a changelog has. A row that a snapshot deletes and inserts again unchanged is carried over.

    With identifier columns, a DELETE and an INSERT of one snapshot that agree in them are UPDATE_BEFORE and UPDATE_AFTER. Net
    changes are those that are left after the last snapshot: a row that was inserted and deleted later has none.
    """

    keep_carried_over: bool = False
    identifier_columns: tuple[str, ...] = ()
    net_changes: bool = False

    @property
    def joins_groups(self) -> bool:
        """Whether changes of different files and partitions are compared."""
        return self.net_changes or bool(self.identifier_columns)


TRUE_CHANGES: Final = ChangeForm()
ALL_CHANGES: Final = ChangeForm(keep_carried_over=True)


def change_form(
    schema: Schema,
    *,
    compute_updates: bool | None = None,
    identifier_columns: Sequence[str] | None = None,
    net_changes: bool = False,
    keep_carried_over: bool = False,
    case_sensitive: bool = True,
) -> ChangeForm:
    """The form that is asked for. Updates are computed when identifier columns are given, unless they are refused; without
    any given, by the table's identifier fields. Raises InvalidInput for columns that cannot identify rows, and for forms
    that exclude each other."""
    if not (identifier_columns is not None if compute_updates is None else compute_updates):
        if net_changes and keep_carried_over:
            raise InvalidInput("net changes have no carried-over rows; ask for one of both")
        return ChangeForm(net_changes=net_changes, keep_carried_over=keep_carried_over)
    if net_changes:
        raise InvalidInput(
            "net_changes and compute_updates exclude each other (identifier_columns imply compute_updates): leave one out, "
            "or say compute_updates => false"
        )
    if keep_carried_over:
        raise InvalidInput("carried-over rows are no updates: ask for one of both")
    given = identifier_columns
    if given is None:
        given = [schema.names[field_id] for field_id in schema.identifier_field_ids]
    if not given:
        raise InvalidInput(
            "updates are found by identifier columns, and the table has no identifier fields: give identifier_columns, or "
            "set them with ALTER TABLE … SET IDENTIFIER FIELDS"
        )
    return ChangeForm(identifier_columns=tuple(_column(schema, name, case_sensitive) for name in given))


def _column(schema: Schema, name: str, case_sensitive: bool) -> str:
    field = schema.find(name, case_sensitive=case_sensitive)
    if field is None:
        known = ", ".join(one.name for one in schema.fields)
        raise InvalidInput(f"no column {name!r} to identify rows by; the columns are {known}", column=name)
    if field not in schema.fields:
        raise InvalidInput(f"{name!r} is in a struct; rows are identified by columns of their own", column=name)
    if not field.type.is_primitive or isinstance(field.type, VariantType):
        raise InvalidInput(f"{name!r} is a {field.type}; rows are identified by primitive values", column=name)
    return field.name
