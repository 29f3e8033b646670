"""Random variants as Python values: any of JSON's shapes, and rows that mostly share one, as shredding wants them."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "A", "item", "user.name", "it's", "tab\there", "über", "", "z" * 70])
DECIMALS = st.builds(
    lambda number, scale: Decimal(number).scaleb(-scale),
    st.integers(-(10**28) + 1, 10**28 - 1) | st.integers(-999, 999),
    st.integers(0, 9),
)
PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "small": st.integers(-128, 127),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "beyond 64 bits": st.integers(2**63, 10**38 - 1),
    "double": st.floats(allow_nan=False),
    "decimal": DECIMALS,
    "cents": st.builds(lambda cents: Decimal(cents).scaleb(-2), st.integers(-99_999, 99_999)),
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80),
    "bytes": st.binary(max_size=80),
    "date": st.dates(date(1, 1, 1)),
    "timestamp": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    "instant": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    "time": st.times(time(0, 0)),
    "uuid": st.builds(lambda number: uuid.UUID(int=number), st.integers(0, 2**128 - 1)),
}
SPARK_LACKS = ("time", "uuid")


def variants(*, without: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    """Any value that a variant holds."""
    leaves = st.one_of(*(strategy for name, strategy in PRIMITIVES.items() if name not in without))
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
    )


@st.composite
def shapes(draw: st.DrawFn, depth: int = 0) -> st.SearchStrategy[Any]:
    """A strategy for values of one type all the way down."""
    kind = draw(st.sampled_from(["primitive", "object", "array"] if depth < 3 else ["primitive"]))
    if kind == "primitive":
        return PRIMITIVES[draw(st.sampled_from(sorted(PRIMITIVES)))]
    if kind == "array":
        return st.lists(draw(shapes(depth + 1)), max_size=3)
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    return st.fixed_dictionaries({}, optional={name: draw(shapes(depth + 1)) for name in names})


@st.composite
def columns(draw: st.DrawFn, *, max_size: int = 12) -> list[Any]:
    """Values of a column, most of them of one shape; the string "missing" stands for no variant at all."""
    alike = draw(shapes())
    one = st.one_of(alike, alike, alike, alike, variants(), st.just("missing"))
    return draw(st.lists(one, min_size=1, max_size=max_size))
