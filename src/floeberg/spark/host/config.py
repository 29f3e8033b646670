"""Catalogs from a session's settings, under the keys of the Java runtime: `spark.sql.catalog.<name>.*`"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.factory import open_catalog
from floeberg.catalogs.identifiers import to_namespace
from floeberg.effects.protocols import Effects
from floeberg.spark.host.session_state import AttachedCatalog

PREFIX: Final = "spark.sql.catalog."
DEFAULT_CATALOG: Final = "spark.sql.defaultCatalog"
JAVA_PACKAGE: Final = "org.apache.iceberg."
_TYPE_OF_CLASS: Final = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.inmemory.InMemoryCatalog": "in-memory",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.nessie.NessieCatalog": "nessie",
}
_OURS: Final = ("type", "warehouse", "uri", "default-namespace", "catalog-impl")
_NULLABLE_QUERIES: Final = "use-nullable-query-schema"
_HADOOP: Final = re.compile(r"hadoop\..*")

logger = logging.getLogger("floeberg")


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """The settings of one catalog."""

    name: str
    class_name: str | None
    options: Mapping[str, str]

    @property
    def is_iceberg(self) -> bool:
        """Whether it is an Iceberg catalog: by its class, or by options of ours where no class is given."""
        if self.class_name is not None:
            return self.class_name.startswith((JAVA_PACKAGE, "floeberg"))
        return "type" in self.options or "warehouse" in self.options or "catalog-impl" in self.options


def read_settings(settings: Mapping[str, str]) -> dict[str, CatalogSettings]:
    """The catalogs that the settings name, by name."""
    classes: dict[str, str] = {}
    options: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        if not key.startswith(PREFIX):
            continue
        name, dot, option = key[len(PREFIX) :].partition(".")
        options.setdefault(name, {})
        if dot:
            options[name][option] = value
        else:
            classes[name] = value
    return {name: CatalogSettings(name, classes.get(name), given) for name, given in options.items()}


def open_from_settings(settings: CatalogSettings, *, effects: Effects) -> AttachedCatalog:
    """Opens the catalog. Raises UnsupportedFeature for a type that is not supported yet, InvalidInput for unknown options."""
    if settings.class_name is not None:
        logger.info(
            "catalog %s: the class %s is not loaded, floeberg takes its place", settings.name, settings.class_name
        )
    given = dict(settings.options)
    defaults = _taken(given, "table-default.")
    overrides = _taken(given, "table-override.")
    namespace = given.get("default-namespace")
    nullable = given.pop(_NULLABLE_QUERIES, "true").lower() != "false"
    backend = open_catalog(
        settings.name,
        type=_type(given),
        warehouse=given.get("warehouse"),
        uri=given.get("uri"),
        options={key: value for key, value in given.items() if key not in _OURS and not _HADOOP.fullmatch(key)},
        effects=effects,
    )
    place = None if not namespace else to_namespace(namespace)
    return AttachedCatalog(backend, defaults, overrides, place, nullable_queries=nullable)


def _type(options: Mapping[str, str]) -> str:
    if "type" in options:
        return options["type"]
    implementation = options.get("catalog-impl", "")
    if implementation in _TYPE_OF_CLASS:
        return _TYPE_OF_CLASS[implementation]
    # The Java runtime takes a Hive metastore when no type is given; a warehouse alone is a folder of tables here.
    return "hadoop" if options.get("uri") is None else "jdbc" if options["uri"].startswith("jdbc:") else "rest"


def _taken(options: dict[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): options.pop(key) for key in list(options) if key.startswith(prefix)}
