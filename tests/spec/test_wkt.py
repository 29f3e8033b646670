"""Geometries in text and binary (appendix G)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec.values.wkt import wkb_from_wkt, wkt_from_wkb


@pytest.mark.parametrize(
    "text",
    [
        "POINT (30 10)",
        "POINT Z (1 2 3)",
        "POINT M (1 2 3.5)",
        "POINT ZM (1 2 3 4)",
        "POINT EMPTY",
        "LINESTRING (30 10, 10 30, -40.25 40)",
        "LINESTRING EMPTY",
        "POLYGON ((30 10, 40 40, 20 40, 30 10), (20 30, 35 35, 30 20, 20 30))",
        "POLYGON EMPTY",
        "MULTIPOINT ((1 2), (3 4))",
        "MULTIPOINT EMPTY",
        "MULTILINESTRING ((1 2, 3 4), EMPTY)",
        "MULTIPOLYGON (((1 2, 3 4, 5 6, 1 2)), ((7 8, 9 1, 2 3, 7 8)))",
        "GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION (LINESTRING (1 2, 3 4)))",
        "GEOMETRYCOLLECTION EMPTY",
    ],
)
def test_every_kind_survives_the_binary_form(text: str) -> None:
    assert wkt_from_wkb(wkb_from_wkt(text)) == text


def test_binary_is_little_endian_iso_wkb() -> None:
    assert wkb_from_wkt("point z(1 2 3)").hex() == "01e9030000000000000000f03f00000000000000400000000000000840"


def test_big_endian_binary_is_read() -> None:
    assert wkt_from_wkb(bytes.fromhex("00000000013ff00000000000004000000000000000")) == "POINT (1 2)"


def test_points_of_a_multipoint_may_stand_without_brackets() -> None:
    assert wkt_from_wkb(wkb_from_wkt("MULTIPOINT (1 2, 3 4)")) == "MULTIPOINT ((1 2), (3 4))"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "POINT",
        "POINT (1)",
        "POINT (1 2",
        "POINT (1 2) x",
        "CIRCLE (1 2)",
        "POINT (1 2, 3 4)",
        "POINT (a b)",
        "GEOMETRYCOLLECTION (" * 50,
    ],
)
def test_text_that_is_no_geometry_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        wkb_from_wkt(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02\x01\x00\x00\x00",
        b"\x01\x09\x00\x00\x00",
        b"\x01\x02\x00\x00\x00\xff\xff\xff\xff",
        wkb_from_wkt("POINT (1 2)") + b"\x00",
        b"\x01\x07\x00\x00\x00\x01\x00\x00\x00" * 60,
        b"\x01\x04\x00\x00\x00\x01\x00\x00\x00" + wkb_from_wkt("POINT Z (1 2 3)"),
    ],
)
def test_bytes_that_are_no_geometry_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        wkt_from_wkb(data)


@given(st.binary(max_size=80))
def test_any_bytes_give_text_or_invalid_input(data: bytes) -> None:
    try:
        wkt_from_wkb(data)
    except InvalidInput:
        return


@given(st.text(alphabet="POINTZM MULCE(),0123456789.-e", max_size=60))
def test_any_text_gives_bytes_or_invalid_input(text: str) -> None:
    try:
        data = wkb_from_wkt(text)
    except InvalidInput:
        return
    wkt_from_wkb(data)
