"""Values from the names of folders, as the type of their column reads them."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.maintenance.imports.folders import is_hidden, partition_of_folders, unescape
from floeberg.maintenance.imports.partition_values import partition_value
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    IcebergType,
)

ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
MIDDAY_US = 1_777_636_800_000_000


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (" 007", INT, 7),
        ("-9223372036854775808", LONG, -(2**63)),
        ("1.5E3", DOUBLE, 1500.0),
        ("-Infinity", FLOAT, float("-inf")),
        ("TRUE", BOOLEAN, True),
        ("0", BOOLEAN, False),
        ("1.1", DecimalType(9, 2), Decimal("1.10")),
        ("2026-5-1", DATE, 20_574),
        ("2026-05-01 12:00:00", TIMESTAMP, MIDDAY_US),
        ("2026-05-01", TIMESTAMP, MIDDAY_US - 12 * 3_600_000_000),
        ("2026-05-01T12:00:00+02:00", TIMESTAMPTZ, MIDDAY_US - 2 * 3_600_000_000),
        (" a ", STRING, " a "),
        ("ü", BINARY, "ü".encode()),
        (str(ID), UUID, ID),
    ],
)
def test_text_is_read_as_the_column_s_type(text: str, kind: IcebergType, value: object) -> None:
    assert partition_value(text, kind) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1_000", INT), ("2147483648", INT), ("1.0", LONG), ("", LONG), ("maybe", BOOLEAN), ("1.234", DecimalType(9, 2)),
        ("one", DOUBLE), ("2026-02-30", DATE), ("2026-05-01 12:00:00+01:00", TIMESTAMP), ("x", UUID), ("٣", INT),
    ],
)  # fmt: skip
def test_text_that_is_no_value_is_refused(text: str, kind: IcebergType) -> None:
    with pytest.raises(InvalidInput, match="is no value of type"):
        partition_value(text, kind)


def test_a_timestamp_without_offset_is_in_the_given_zone() -> None:
    zone = ZoneInfo("America/New_York")
    summer = partition_value("2026-05-01 12:00:00", TIMESTAMPTZ, zone=zone)
    assert summer == MIDDAY_US + 4 * 3_600_000_000
    winter = partition_value("2026-01-01 12:00:00", TIMESTAMPTZ, zone=zone)
    assert winter == int(dt.datetime(2026, 1, 1, 17, tzinfo=dt.UTC).timestamp()) * 1_000_000


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_a_name_is_unescaped_to_what_spark_escaped(text: str) -> None:
    special = set("\"#%'*/:=?\\\x7f{[]^") | {chr(code) for code in range(1, 32)}
    escaped = "".join(f"%{ord(sign):02X}" if sign in special else sign for sign in text)
    assert unescape(escaped) == text
    assert partition_of_folders([f"p={escaped}"], "here") == (("p", text),)


def test_names_that_spark_passes_over_are_hidden() -> None:
    assert [name for name in ("_SUCCESS", ".x", "a._COPYING_", "_p=1", "p=1", "x") if not is_hidden(name)] == [
        "_p=1", "p=1", "x",
    ]  # fmt: skip
