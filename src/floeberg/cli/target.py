"""Which table a command is about: a name in a catalog, or the path of a metadata file or a table's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from floeberg.api.catalog import Catalog, open_table
from floeberg.api.table import Table
from floeberg.api.view import View
from floeberg.catalogs.identifiers import Identifier, to_identifier
from floeberg.cli.config import Config
from floeberg.errors import InvalidInput
from floeberg.storage.secret import seal_options


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the options say of where tables are."""

    config: Config
    catalog: str | None = None
    relocate: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    lenient: bool = False

    def open_catalog(self) -> Catalog:
        """The catalog that is meant. Raises InvalidInput when it is not clear which."""
        return self.config.open(self.catalog or self.config.default_name())

    def table(self, text: str) -> Table:
        """The table of a name or path. Raises TableNotFound, InvalidInput."""
        if is_path(text):
            return open_table(
                text, relocate=self.relocate, properties=seal_options(self.properties), lenient=self.lenient
            )
        if self.relocate or self.lenient:
            raise InvalidInput(f"--relocate and --lenient are for a metadata file or table folder, not for {text!r}")
        name, identifier = self._named(text)
        return self.config.open(name).load_table(identifier)

    def named_table(self, parts: Sequence[str]) -> Table:
        """The table of a name's parts, of which none need be quoted. Raises TableNotFound, InvalidInput."""
        catalog = parts[0] if self.catalog is None and len(parts) > 2 and parts[0] in self.config.catalogs else None
        name = catalog or self.catalog or self.config.default_name()
        own = parts[1:] if len(parts) > 2 and parts[0] == name else parts
        opened = self.config.open(name)
        if len(own) > 1:
            return opened.load_table(tuple(own))
        if not opened.default_namespace:
            raise InvalidInput(f"{own[0]!r} names no namespace; a table is named namespace.table")
        return opened.load_table((*opened.default_namespace, own[0]))

    def view(self, text: str) -> View:
        """The view of a name. Raises ViewNotFound, InvalidInput, UnsupportedFeature."""
        name, identifier = self._named(text)
        return self.config.open(name).load_view(identifier)

    def _named(self, text: str) -> tuple[str, Identifier]:
        """`catalog.db.t` where `catalog` is configured, or `db.t` in the catalog that is meant."""
        first, _, rest = text.partition(".")
        if self.catalog is None and first in self.config.catalogs and "." in rest:
            return first, to_identifier(rest)
        name = self.catalog or self.config.default_name()
        if first == name and "." in rest:
            text = rest
        namespace = self.config.open(name).default_namespace
        if "." not in text and namespace:
            return name, to_identifier((*namespace, text))
        return name, to_identifier(text)


def is_path(text: str) -> bool:
    """Whether the text can only be a path: table names have no slash."""
    return "/" in text or text.endswith(".json") or text in (".", "..")


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """`OLD=NEW` texts. Raises InvalidInput for one without `=`."""
    split = [text.partition("=") for text in texts]
    for text, (left, sign, right) in zip(texts, split, strict=True):
        if not sign or not left or not right:
            raise InvalidInput(f"{option} takes two things with = between them, not {text!r}")
    return {left: right for left, _, right in split}
