"""Random nested types, types that come near to them, and values as SQL: what store assignment lines up."""

from __future__ import annotations

import random
from dataclasses import dataclass

LEAVES = ("INT", "BIGINT", "DOUBLE", "DECIMAL(6,2)", "STRING", "DATE", "BOOLEAN")
_NUMBERS = ("TINYINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(6,2)", "DECIMAL(9,4)")
_NAMES = ("a", "b", "c", "d.e", "f g", "h`i", "jöl", "k{x}", "L")


@dataclass(frozen=True)
class Leaf:
    name: str

    def ddl(self) -> str:
        return self.name


@dataclass(frozen=True)
class Struct:
    members: tuple[tuple[str, Type], ...]

    def ddl(self) -> str:
        return f"STRUCT<{', '.join(f'{quoted(name)}: {kind.ddl()}' for name, kind in self.members)}>"


@dataclass(frozen=True)
class Array:
    element: Type

    def ddl(self) -> str:
        return f"ARRAY<{self.element.ddl()}>"


@dataclass(frozen=True)
class Map:
    key: Leaf
    value: Type

    def ddl(self) -> str:
        return f"MAP<{self.key.ddl()}, {self.value.ddl()}>"


Type = Leaf | Struct | Array | Map


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def random_type(rng: random.Random, depth: int = 3) -> Type:
    kind = rng.choice(("leaf", "struct", "struct", "array", "map")) if depth else "leaf"
    if kind == "struct":
        names = rng.sample(_NAMES, rng.randint(1, 3))
        return Struct(tuple((name, random_type(rng, depth - 1)) for name in names))
    if kind == "array":
        return Array(random_type(rng, depth - 1))
    if kind == "map":
        return Map(Leaf(rng.choice(("STRING", "INT"))), random_type(rng, depth - 1))
    return Leaf(rng.choice(LEAVES))


def near_type(rng: random.Random, wanted: Type, *, by_name: bool, faults: float) -> Type:
    """A type that store assignment turns into the wanted one; with faults, one that it may refuse."""
    if isinstance(wanted, Struct):
        members = [(name, near_type(rng, kind, by_name=by_name, faults=faults)) for name, kind in wanted.members]
        if by_name:
            rng.shuffle(members)
            members = [(name.upper() if rng.random() < 0.2 else name, kind) for name, kind in members]
        elif rng.random() < 0.7:
            members = [(f"col{place}", kind) for place, (_, kind) in enumerate(members)]
        if rng.random() < faults:
            members = members[1:] if len(members) > 1 and rng.random() < 0.5 else [*members, ("extra", Leaf("INT"))]
        return Struct(tuple(members))
    if isinstance(wanted, Array):
        return Array(near_type(rng, wanted.element, by_name=by_name, faults=faults))
    if isinstance(wanted, Map):
        return Map(wanted.key, near_type(rng, wanted.value, by_name=by_name, faults=faults))
    if rng.random() < faults:
        return Leaf(rng.choice(LEAVES))
    if wanted.name == "STRING":
        return Leaf(rng.choice(("STRING", *_NUMBERS, "DATE", "BOOLEAN")))
    return Leaf(rng.choice(_NUMBERS)) if wanted.name in _NUMBERS else wanted


def literal(rng: random.Random, kind: Type, *, nulls: float = 0.15) -> str:
    """A value of exactly the type, as SQL."""
    if rng.random() < nulls:
        return f"CAST(NULL AS {kind.ddl()})"
    if isinstance(kind, Struct):
        return f"struct({', '.join(f'{literal(rng, one)} AS {quoted(name)}' for name, one in kind.members)})"
    if isinstance(kind, Array):
        items = ", ".join(literal(rng, kind.element) for _ in range(rng.randint(0, 2)))
        return f"CAST(array({items}) AS {kind.ddl()})"
    if isinstance(kind, Map):
        keys = [f"CAST('{key}' AS {kind.key.ddl()})" for key in range(rng.randint(0, 2))]
        items = ", ".join(f"{key}, {literal(rng, kind.value)}" for key in keys)
        return f"CAST(map({items}) AS {kind.ddl()})"
    return _leaf(rng, kind.name)


def _leaf(rng: random.Random, name: str) -> str:
    if name == "STRING":
        return f"'text {rng.randint(0, 99)}'"
    if name == "DATE":
        return f"DATE '2020-01-{rng.randint(1, 28):02}'"
    if name == "BOOLEAN":
        return rng.choice(("true", "false"))
    return f"CAST({rng.choice((rng.randint(0, 99), 1.25, -7.5))} AS {name})"
