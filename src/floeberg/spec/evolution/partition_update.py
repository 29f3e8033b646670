"""Partition spec evolution: https://iceberg.apache.org/spec/#partition-evolution

v1 tables keep the place of a removed field with a void transform, because their field ids are positions; from v2 on a
removed field goes, ids are unique over all specs of the table, and a field that an older spec had gets its id back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floeberg.errors import InvalidInput
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec, check_field, default_field_name
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term, resolve_source
from floeberg.spec.partitions.transforms import VOID, TemporalTransform, Transform, VoidTransform
from floeberg.spec.schemas.schema import Schema


class PartitionSpecUpdate:
    """Changes to a table's current spec, collected one by one; `apply` gives the new spec. Raises InvalidInput."""

    def __init__(
        self,
        schema: Schema,
        spec: PartitionSpec,
        *,
        format_version: int,
        specs: Iterable[PartitionSpec] = (),
        last_assigned_field_id: int | None = None,
        case_sensitive: bool = True,
    ) -> None:
        if spec.unknown_fields:
            raise InvalidInput(
                f"partition field {spec.unknown_fields[0]}: a spec with an unknown transform cannot evolve"
            )
        self._schema = schema
        self._spec = spec
        self._format_version = format_version
        self._specs = sorted({s.spec_id: s for s in (*specs, spec)}.values(), key=lambda s: s.spec_id, reverse=True)
        highest = max(s.last_assigned_field_id for s in self._specs)
        self._last_assigned_field_id = max(highest, last_assigned_field_id or 0)
        self._case_sensitive = case_sensitive
        self._added: list[PartitionField] = []
        self._removed: set[int] = set()
        self._renamed: dict[int, str] = {}

    @property
    def last_assigned_field_id(self) -> int:
        """The highest partition field id of the table, with those this update assigned."""
        return self._last_assigned_field_id

    def add_field(self, term: str | PartitionTerm, name: str | None = None) -> PartitionSpecUpdate:
        """Adds a field such as `bucket(16, id)` at the end, named as the reference implementation would unless a name
        is given. A field that this update removed is taken back, and from v2 on a field that is re-added gets the field id
        it had in an older spec."""
        parsed = term if isinstance(term, PartitionTerm) else parse_partition_term(term)
        name = name or parsed.name
        source_ids, transform = self._resolve(parsed)
        existing = self._find(source_ids, transform)
        if existing is not None:
            return self._take_back(existing, parsed, name)
        if clash := next((f for f in self._added if (f.source_ids, f.transform) == (source_ids, transform)), None):
            raise InvalidInput(f"cannot add partition field {parsed} twice; it was added as {clash.name!r}")
        field = self._recycled(source_ids, transform, name) or self._new(source_ids, transform, name)
        self._check_redundant(field)
        self._free_name(field.name)
        # Only now: a refused field must leave no gap in ids, which are positions in v1.
        self._last_assigned_field_id = max(self._last_assigned_field_id, field.field_id)
        self._added.append(field)
        return self

    def remove_field(self, name_or_term: str | PartitionTerm) -> PartitionSpecUpdate:
        """Removes the field of that name, or failing that of that term."""
        field = self._existing(name_or_term)
        if field.field_id in self._renamed:
            raise InvalidInput(f"cannot rename and remove partition field {field.name!r} in one update")
        self._removed.add(field.field_id)
        return self

    def rename_field(self, name: str, new_name: str) -> PartitionSpecUpdate:
        """Renames a field of the current spec; a removed field of v1 that holds the new name makes way."""
        if any(field.name == name for field in self._added):
            raise InvalidInput(f"cannot rename partition field {name!r}, which this update adds; add it with the name")
        field = self._spec.field(name)
        if field is None:
            raise self._no_field(name)
        if field.field_id in self._removed:
            raise InvalidInput(f"cannot remove and rename partition field {name!r} in one update")
        self._renamed[field.field_id] = new_name
        holder = self._spec.field(new_name)
        if holder is not None and holder.field_id != field.field_id and isinstance(holder.transform, VoidTransform):
            self._renamed.setdefault(holder.field_id, f"{holder.name}_{holder.field_id}")
        return self

    def apply(self) -> PartitionSpec:
        """The new spec, with the id of an equivalent spec of the table when there is one, else the next id."""
        fields: list[PartitionField] = []
        for field in self._spec.fields:
            if (kept := self._kept(field)) is not None:
                fields.append(kept)
        fields.extend(self._added)
        self._check_names(fields)
        unchanged = set(self._spec.fields)
        for field in fields:
            if field not in unchanged or self._schema.find(field.source_id) is None:
                check_field(self._schema, field)
        return self._identified(tuple(fields))

    def _kept(self, field: PartitionField) -> PartitionField | None:
        name = self._renamed.get(field.field_id, field.name)
        if field.field_id not in self._removed:
            return replace(field, name=name)
        if self._format_version >= 2:
            return None
        if name == field.name and any(added.name == name for added in self._added):
            name = f"{name}_{field.field_id}"
        return replace(field, name=name, transform=VOID)

    def _identified(self, fields: tuple[PartitionField, ...]) -> PartitionSpec:
        spec = PartitionSpec(self._specs[0].spec_id + 1, fields)
        for known in (self._spec, *self._specs):
            if known.compatible_with(spec):
                return known
        return spec

    def _resolve(self, term: PartitionTerm) -> tuple[tuple[int, ...], Transform]:
        source = resolve_source(self._schema, term.column, term.transform, case_sensitive=self._case_sensitive)
        return (source.field_id,), term.transform

    def _find(self, source_ids: tuple[int, ...], transform: Transform) -> PartitionField | None:
        return next((f for f in self._spec.fields if (f.source_ids, f.transform) == (source_ids, transform)), None)

    def _take_back(self, existing: PartitionField, term: PartitionTerm, name: str | None) -> PartitionSpecUpdate:
        if existing.field_id not in self._removed:
            raise InvalidInput(f"cannot add partition field {term}: the spec has it as {existing.name!r}")
        self._removed.discard(existing.field_id)
        return self if name in (None, existing.name) else self.rename_field(existing.name, name)

    def _recycled(self, source_ids: tuple[int, ...], transform: Transform, name: str | None) -> PartitionField | None:
        """An equal field of an older spec, the newest first: a field that is re-added gets the field id it had, and its name
        unless one is given.

        Not while a void field of the current spec, from the table's days as v1, still holds that id.
        """
        if self._format_version < 2:
            return None
        held = {field.field_id for field in self._spec.fields} - self._removed
        for spec in self._specs:
            for field in spec.fields:
                same = (field.source_ids, field.transform) == (source_ids, transform) and name in (None, field.name)
                if same and field.field_id not in held:
                    return field
        return None

    def _new(self, source_ids: tuple[int, ...], transform: Transform, name: str | None) -> PartitionField:
        made = default_field_name(self._schema.names[source_ids[0]], transform, numbered=True)
        return PartitionField(source_ids, self._last_assigned_field_id + 1, name or made, transform)

    def _free_name(self, name: str) -> None:
        """A field that was removed, now or in an earlier v1 spec, gives its name up to the added one."""
        holder = self._spec.field(name)
        if holder is None or holder.field_id in self._removed or holder.field_id in self._renamed:
            return
        if not isinstance(holder.transform, VoidTransform):
            raise InvalidInput(f"cannot add a partition field named {name!r}: {holder} has the name")
        self._renamed[holder.field_id] = f"{holder.name}_{holder.field_id}"

    def _check_redundant(self, field: PartitionField) -> None:
        if not isinstance(field.transform, TemporalTransform):
            return
        for other in self._added:
            if other.source_ids == field.source_ids and isinstance(other.transform, TemporalTransform):
                raise InvalidInput(f"partition field {field} is redundant beside {other}")

    def _check_names(self, fields: list[PartitionField]) -> None:
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"partition field name {name!r} would be used twice; rename one of the fields")

    def _existing(self, name_or_term: str | PartitionTerm) -> PartitionField:
        if isinstance(name_or_term, str):
            if any(field.name == name_or_term for field in self._added):
                raise InvalidInput(f"cannot remove partition field {name_or_term!r}, which this update adds")
            if (field := self._spec.field(name_or_term)) is not None:
                return field
        try:
            term = parse_partition_term(name_or_term) if isinstance(name_or_term, str) else name_or_term
            found = self._find(*self._resolve(term))
        except InvalidInput as error:
            raise self._no_field(name_or_term) from error
        if found is None:
            raise self._no_field(name_or_term)
        return found

    def _no_field(self, wanted: object) -> InvalidInput:
        known = ", ".join(field.name for field in self._spec.fields) or "none"
        return InvalidInput(f"no partition field {str(wanted)!r}; the fields are: {known}")
