"""Which catalogs there are: from files, the environment and options, in that order, later ones winning.

# ~/.floeberg.toml, then ./floeberg.toml; or only the file that --config or FLOEBERG_CONFIG names
default = "lake"
[catalog.lake]
type = "sql"                      # filesystem (the default), sql, rest or memory
uri = "sqlite:///lake.db"
warehouse = "s3://bucket/lake"
default-namespace = "db"
s3.endpoint = "http://localhost:9000"

# FLOEBERG_CATALOG__<NAME>__<OPTION>, where __ stands for . and _ for -
FLOEBERG_DEFAULT_CATALOG=lake
FLOEBERG_CATALOG__LAKE__S3__SECRET_ACCESS_KEY=…
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from floeberg.api.catalog import Catalog, catalog
from floeberg.errors import InvalidInput
from floeberg.storage.secret import Secret, seal_options

PREFIX: Final = "FLOEBERG_CATALOG__"
DEFAULT_VARIABLE: Final = "FLOEBERG_DEFAULT_CATALOG"
FILE_VARIABLE: Final = "FLOEBERG_CONFIG"
LOCAL_FILE: Final = "floeberg.toml"
HOME_FILE: Final = ".floeberg.toml"
_OWN_KEYS: Final = ("type", "warehouse", "uri", "default-namespace")


@dataclass(frozen=True, slots=True)
class Config:
    """The catalogs by name, each with its options, and which one is meant when none is named."""

    catalogs: Mapping[str, Mapping[str, str | Secret]] = field(default_factory=dict)
    default: str | None = None

    def open(self, name: str) -> Catalog:
        """The catalog of that name. Raises InvalidInput when there is none."""
        options = self.catalogs.get(name)
        if options is None:
            known = ", ".join(sorted(self.catalogs)) or "none"
            raise InvalidInput(f"no catalog {name!r} is configured (there are: {known}); {HOW_TO}")
        own = {key: value for key, value in options.items() if key in _OWN_KEYS}
        return catalog(
            name,
            type=str(own.get("type", "filesystem")),
            warehouse=_text(own.get("warehouse")),
            uri=own.get("uri"),
            default_namespace=_text(own.get("default-namespace")),
            properties={key: value for key, value in options.items() if key not in _OWN_KEYS},
        )

    def warehouse(self, name: str) -> str | None:
        """The warehouse of a configured catalog."""
        return _text(self.catalogs.get(name, {}).get("warehouse"))

    def default_name(self) -> str:
        """The default catalog, or the only one. Raises InvalidInput when it is not clear which."""
        if self.default is not None:
            return self.default
        if len(self.catalogs) == 1:
            return next(iter(self.catalogs))
        known = ", ".join(sorted(self.catalogs))
        raise InvalidInput(f"which catalog? Name one with --catalog ({known})" if known else f"no catalog; {HOW_TO}")


HOW_TO: Final = "give --warehouse PATH, or write a [catalog.NAME] table into floeberg.toml"


def load_config(
    environment: Mapping[str, str], *, folder: Path, home: Path, file: str | None = None, options: Mapping[str, str]
) -> Config:
    """The configuration. `options` are what the command line says of one catalog: `catalog`, `type`, `warehouse`, `uri`
    and options of stores. Raises InvalidInput for a file that is not there or not TOML."""
    catalogs: dict[str, dict[str, str]] = {}
    default: str | None = None
    for path in _files(environment, folder=folder, home=home, file=file):
        parsed = _parse(path)
        default = _text(parsed.get("default")) or default
        for name, entries in _tables(parsed, path):
            catalogs.setdefault(name, {}).update(_flat(entries, path))
    default = environment.get(DEFAULT_VARIABLE) or default
    for key, value in environment.items():
        if key.startswith(PREFIX):
            name, option = _from_variable(key, catalogs)
            catalogs.setdefault(name, {})[option] = value
    given = {key: value for key, value in options.items() if key != "catalog"}
    chosen = options.get("catalog")
    if given:
        name = chosen or (default if default in catalogs else None) or "default"
        # A warehouse or uri on the command line is another catalog than a configured one, unless that one is named.
        base = catalogs.get(name, {}) if chosen or not {"warehouse", "uri"} & given.keys() else {}
        catalogs = {**catalogs, name: {**base, **given}}
        default = name
    return Config({name: seal_options(entries) for name, entries in catalogs.items()}, chosen or default)


def _files(environment: Mapping[str, str], *, folder: Path, home: Path, file: str | None) -> Iterator[Path]:
    named = file or environment.get(FILE_VARIABLE)
    if named is not None:
        path = Path(named).expanduser()
        if not path.is_file():
            raise InvalidInput(f"the configuration file {named} is not there")
        yield path
        return
    yield from (path for path in (home / HOME_FILE, folder / LOCAL_FILE) if path.is_file())


def _parse(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InvalidInput(f"the configuration file {path} cannot be read: {error}") from error


def _tables(parsed: Mapping[str, object], path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    catalogs = parsed.get("catalog", {})
    entries = catalogs.items() if isinstance(catalogs, Mapping) else [("catalog", None)]
    for name, options in entries:
        if not isinstance(options, Mapping):
            raise InvalidInput(f"{path}: catalogs are tables: [catalog.{name}]")
        yield name, options


def _flat(entries: Mapping[str, object], path: Path, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Options with dots in their names, which TOML reads as tables."""
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flat(value, path, f"{prefix}{key}.")
        elif isinstance(value, bool):
            yield f"{prefix}{key}", "true" if value else "false"
        elif isinstance(value, (str, int, float)):
            yield f"{prefix}{key}", str(value)
        else:
            raise InvalidInput(f"{path}: option {prefix}{key} is neither text nor number")


def _from_variable(key: str, catalogs: Mapping[str, object]) -> tuple[str, str]:
    name, separator, option = key.removeprefix(PREFIX).partition("__")
    if not separator or not name or not option:
        raise InvalidInput(f"the variable {key} names no option; write {PREFIX}<NAME>__<OPTION>")
    known = {configured.lower(): configured for configured in catalogs}
    dotted = option.lower().replace("__", ".").replace("_", "-")
    return known.get(name.lower(), name.lower()), dotted


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.reveal() if isinstance(value, Secret) else str(value)
