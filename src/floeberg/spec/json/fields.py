"""Typed reading of a decoded JSON object: a wrong or missing field raises MetadataCorrupt that says what and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NoReturn

import msgspec

from floeberg.errors import MetadataCorrupt
from floeberg.spec.json.strict import json_kind

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1

Int32 = Annotated[int, msgspec.Meta(ge=-INT_MAX - 1, le=INT_MAX)]
Int64 = Annotated[int, msgspec.Meta(ge=-LONG_MAX - 1, le=LONG_MAX)]
"""For the shapes (msgspec structs) that check long lists without building objects."""


class JsonFields:
    """The fields of one JSON object. A field that is null counts as missing, except where a method says otherwise."""

    __slots__ = ("_object", "where")

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise MetadataCorrupt(f"{where} must be a JSON object, not {json_kind(value)}", where=where)
        self._object: dict[str, object] = value
        self.where = where

    def has(self, key: str) -> bool:
        return self._object.get(key) is not None

    def path(self, key: str) -> str:
        return f"{self.where}: {key}" if self.where else key

    def wrong(self, key: str, expected: str) -> NoReturn:
        found = json_kind(self._object[key]) if key in self._object else "missing"
        raise MetadataCorrupt(f"{self.path(key)} must be {expected}, but is {found}", where=self.where, field=key)

    def value(self, key: str) -> object:
        """The value, whatever it is; None when missing."""
        return self._object.get(key)

    def required(self, key: str) -> object:
        value = self._object.get(key)
        if value is None:
            raise MetadataCorrupt(f"{self.where} lacks the required field {key}", where=self.where, field=key)
        return value

    def optional_integer(self, key: str, *, highest: int = LONG_MAX) -> int | None:
        value = self._object.get(key)
        if value is None:
            return None
        if type(value) is not int:
            self.wrong(key, "an integer")
        if not -highest - 1 <= value <= highest:
            self.wrong(key, "a 32-bit integer" if highest == INT_MAX else "a 64-bit integer")
        return value

    def long(self, key: str) -> int:
        self.required(key)
        value = self.optional_integer(key)
        assert value is not None
        return value

    def int32(self, key: str) -> int:
        self.required(key)
        value = self.optional_integer(key, highest=INT_MAX)
        assert value is not None
        return value

    def optional_int32(self, key: str) -> int | None:
        return self.optional_integer(key, highest=INT_MAX)

    def optional_text(self, key: str) -> str | None:
        value = self._object.get(key)
        if value is not None and not isinstance(value, str):
            self.wrong(key, "text")
        return value

    def text(self, key: str) -> str:
        value = self.required(key)
        if not isinstance(value, str):
            self.wrong(key, "text")
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self._object.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(key, "true or false")
        return value

    def optional_text_map(self, key: str) -> dict[str, str]:
        """An object of texts; empty when missing."""
        value = self._object.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(key, "an object of texts")
        for name, text in value.items():
            if not isinstance(text, str):
                raise MetadataCorrupt(
                    f"{self.path(key)}: {name} must be text, but is {json_kind(text)}", where=self.where, field=key
                )
        return dict(value)

    def text_map(self, key: str) -> dict[str, str]:
        self.required(key)
        return self.optional_text_map(key)

    def optional_list(self, key: str) -> list[object]:
        """An array; empty when missing."""
        value = self._object.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong(key, "an array")
        return value

    def list(self, key: str) -> list[object]:
        self.required(key)
        return self.optional_list(key)

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.list(key)
        found = tuple(value for value in values if isinstance(value, str))
        if len(found) != len(values):
            self.wrong(key, "an array of texts")
        return found

    def integers(self, key: str, *, highest: int = LONG_MAX) -> tuple[int, ...]:
        values = self.list(key)
        found = tuple(value for value in values if type(value) is int and -highest - 1 <= value <= highest)
        if len(found) != len(values):
            self.wrong(key, "an array of integers")
        return found

    def objects(self, key: str) -> tuple[dict[str, object], ...]:
        """An array of objects; empty when missing."""
        values = self.optional_list(key)
        found = tuple(value for value in values if isinstance(value, dict))
        if len(found) != len(values):
            self.wrong(key, "an array of objects")
        return found

    def optional_object(self, key: str) -> dict[str, object]:
        """An object; empty when missing."""
        value = self._object.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(key, "an object")
        return value

    def unknown(self, known: frozenset[str]) -> Mapping[str, object]:
        """The fields that are not known here: they are kept and written back."""
        return {key: value for key, value in self._object.items() if key not in known}
