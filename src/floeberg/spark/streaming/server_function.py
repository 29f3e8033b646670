"""Functions for `foreachBatch` over Spark Connect: they run in a process of the server, which attaches its session again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.errors import PySparkException

from floeberg.catalogs.identifiers import Namespace
from floeberg.catalogs.recipe import CatalogRecipe, recipe_of
from floeberg.effects.system import system_effects
from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.host.session_state import AttachedCatalog

logger = logging.getLogger("floeberg")
_MISSING: Final = "No module named 'floeberg"


@contextmanager
def needs_floeberg_in_server(what: str) -> Iterator[None]:
    """For what a server starts a Python process of its own for. Raises UnsupportedFeature when floeberg is missing there."""
    try:
        yield
    except PySparkException as error:
        if _MISSING not in str(error):
            raise
        raise UnsupportedFeature(
            f"{what} runs in a Python process of the Spark server, in which floeberg cannot be imported: install it in the "
            "Python that the server starts (PYSPARK_PYTHON in its environment, spark.pyspark.python in its settings)"
        ) from error


@dataclass(frozen=True, slots=True)
class CatalogToAttach:
    """A catalog as the client has it attached, in a form that travels."""

    recipe: CatalogRecipe
    table_defaults: Mapping[str, str]
    table_overrides: Mapping[str, str]
    default_namespace: Namespace | None
    nullable_query_schema: bool

    def open(self) -> AttachedCatalog:
        return AttachedCatalog(
            self.recipe.open(),
            self.table_defaults,
            self.table_overrides,
            self.default_namespace,
            nullable_query_schema=self.nullable_query_schema,
        )


@dataclass(frozen=True, slots=True)
class AttachedFunction:
    """A user's function with the catalogs of its session. Floeberg must be installed in the server's Python, which finds this
    class by its name."""

    function: Callable[[Any, int], Any]
    catalogs: tuple[CatalogToAttach, ...]
    attach: Callable[..., Any]
    """What attached the client's session; a function of a module, which travels by its name."""

    def __call__(self, batch: Any, epoch_id: int) -> Any:
        spark = batch.sparkSession
        if session_of(spark) is None:
            self.attach(spark, {one.recipe.name: one.open() for one in self.catalogs}, effects=system_effects())
        return self.function(batch, epoch_id)


def for_server(
    session: AttachedSession, function: Callable[[Any, int], Any], *, writes: Collection[str] = ()
) -> AttachedFunction:
    """The function as it is sent to the server. Raises UnsupportedFeature when one of the catalogs that it writes to, as far as
    they are known, cannot be opened there, or none of the session's can; another that cannot is left out with a warning."""
    catalogs, refused = [], []
    for name, attached in session.state.catalogs.items():
        try:
            recipe = recipe_of(attached.backend, what="foreachBatch over Spark Connect")
        except UnsupportedFeature as error:
            if name in writes:
                raise
            refused.append(str(error))
            continue
        catalogs.append(
            CatalogToAttach(
                recipe,
                dict(attached.table_defaults),
                dict(attached.table_overrides),
                attached.default_namespace,
                attached.nullable_query_schema,
            )
        )
    if refused and not catalogs:
        raise UnsupportedFeature("; ".join(refused))
    for reason in refused:
        logger.warning("a function for foreachBatch is sent without one of the session's catalogs. %s", reason)
    assert session.state.attach_again is not None
    return AttachedFunction(function, tuple(catalogs), session.state.attach_again)
