"""Decoding each file once while many histories are played: decoding is a pure function of bytes, and half of the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from floeberg.catalogs import filesystem_pointer, metadata_files
from floeberg.commit import workspace
from floeberg.testing import sim_catalogs, sim_reader

_MOST: Final = 4096
_PLACES: Final = (
    (workspace, "read_manifest"),
    (workspace, "read_manifest_list"),
    (sim_reader, "read_manifest"),
    (sim_reader, "read_manifest_list"),
    (metadata_files, "decode_metadata"),
    (filesystem_pointer, "decode_metadata"),
    (sim_catalogs, "decode_metadata"),
)


@contextmanager
def decoded_once() -> Iterator[None]:
    """Within it, the same bytes are decoded once. Nothing that is decoded is ever changed."""
    saved = [(module, name, getattr(module, name)) for module, name in _PLACES]
    remembered = {function: lru_cache(maxsize=_MOST)(function) for function in {found for _, _, found in saved}}
    try:
        for module, name, function in saved:
            setattr(module, name, remembered[function])
        yield
    finally:
        for module, name, function in saved:
            setattr(module, name, function)
