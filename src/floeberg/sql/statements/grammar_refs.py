"""Branches and tags in ALTER TABLE: https://iceberg.apache.org/docs/latest/spark-ddl/#branching-and-tagging-ddl"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floeberg.sql.statements.grammar import Grammar
from floeberg.sql.statements.statements import CreateReference, DropReference, Statement
from floeberg.sql.text.lexer import Kind
from floeberg.sql.text.names import Name

_UNIT_MS: Final = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000}
_HINT: Final = (
    "[AS OF VERSION id] [RETAIN n DAYS|HOURS|MINUTES] [WITH SNAPSHOT RETENTION [n SNAPSHOTS] [n DAYS|HOURS|MINUTES]]"
)


@dataclass(slots=True)
class _Retention:
    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


class RefGrammar(Grammar):
    """CREATE, REPLACE and DROP of BRANCH and TAG, inside ALTER TABLE."""

    def create_reference(self, table: Name) -> Statement:
        """The cursor is at CREATE or REPLACE."""
        cursor = self.cursor
        create = cursor.accept("CREATE")
        replace = cursor.accept("OR", "REPLACE") if create else cursor.accept("REPLACE")
        kind = cursor.expect_any("BRANCH", "TAG", hint="CREATE BRANCH name, CREATE TAG name").lower()
        if_not_exists = self.if_not_exists()
        if if_not_exists and replace:
            raise cursor.error("REPLACE and IF NOT EXISTS exclude each other")
        name = cursor.name(f"the {kind}'s name")
        options = self._options(kind)
        cursor.expect_end(hint=_HINT)
        return CreateReference(
            table,
            kind,
            name,
            create=create,
            replace=replace,
            if_not_exists=if_not_exists,
            snapshot_id=options.snapshot_id,
            max_ref_age_ms=options.max_ref_age_ms,
            min_snapshots_to_keep=options.min_snapshots_to_keep,
            max_snapshot_age_ms=options.max_snapshot_age_ms,
        )

    def _options(self, kind: str) -> _Retention:
        cursor = self.cursor
        found = _Retention()
        if cursor.accept("AS", "OF", "VERSION"):
            found.snapshot_id = self.whole_number("a snapshot id")
        if cursor.accept("RETAIN"):
            found.max_ref_age_ms = self._age()
        if not cursor.accept("WITH", "SNAPSHOT", "RETENTION"):
            return found
        if kind == "tag":
            raise cursor.error("a tag keeps one snapshot: SNAPSHOT RETENTION is for branches", hint="use RETAIN n DAYS")
        if cursor.peek().upper == "SNAPSHOTS":
            found.min_snapshots_to_keep = self.whole_number("how many snapshots to keep")
            cursor.advance()
            if not cursor.at_kind(Kind.NUMBER):
                return found
        found.max_snapshot_age_ms = self._age()
        return found

    def _age(self) -> int:
        number = self.whole_number("how long to keep it")
        unit = self.cursor.expect_any("DAYS", "HOURS", "MINUTES", hint=_HINT)
        return number * _UNIT_MS[unit]

    def drop_reference(self, table: Name) -> Statement:
        """The cursor is at BRANCH or TAG."""
        kind = self.cursor.advance().upper.lower()
        if_exists = self.if_exists()
        return DropReference(table, kind, self.cursor.name(f"the {kind}'s name"), if_exists)
