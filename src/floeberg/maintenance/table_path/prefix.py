"""The change of path itself: what lies below one prefix is to lie below another."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.errors import InvalidInput, PathEscape
from floeberg.storage.location import Location, parse


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """From one prefix to another, by whole segments and however a scheme is written; `staging` is where changed files are put
    until they are copied."""

    table: str
    source: Location
    target: Location
    staging: Location

    @staticmethod
    def of(*, table: str, source: str, target: str, staging: str) -> PrefixChange:
        """Raises InvalidInput for prefixes that are no locations, or the same one."""
        change = PrefixChange(table, parse(source), parse(target), parse(staging))
        if change.source == change.target:
            raise InvalidInput(f"table {table}: the source prefix and the target prefix are both {target}")
        return change

    def new(self, path: str) -> str:
        """Where a file is to lie. Raises InvalidInput for one outside the source prefix."""
        return self._below(self.target, path)

    def staged(self, path: str) -> str:
        """Where the changed copy of a file waits. Raises InvalidInput for one outside the source prefix."""
        return self._below(self.staging, path)

    def covers(self, path: str) -> bool:
        return parse(path).is_within(self.source)

    def _below(self, root: Location, path: str) -> str:
        try:
            rest = parse(path).relative_to(self.source)
        except PathEscape:
            raise InvalidInput(
                f"table {self.table}: {path} is not below the source prefix {self.source.text}; give a prefix that all "
                "files of the table have, or rewrite that file into the table first (rewrite_data_files)",
                table=self.table,
                location=path,
            ) from None
        return f"{root.text.rstrip('/')}/{rest}" if rest else root.text
