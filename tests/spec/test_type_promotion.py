"""Valid type promotions: https://iceberg.apache.org/spec/#schema-evolution"""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.values.promotion import can_promote, changes_partition_values, promote_value, refusal
from strategies.schemas import V3_PRIMITIVES

ALLOWED_ALWAYS = {(t.INT, t.LONG), (t.FLOAT, t.DOUBLE)}
ALLOWED_IN_V3 = {(t.DATE, t.TIMESTAMP), (t.DATE, t.TIMESTAMP_NS)} | {(t.UNKNOWN, other) for other in V3_PRIMITIVES}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_table_of_the_specification_is_the_whole_truth_for_primitives(version):
    for before in V3_PRIMITIVES:
        for after in V3_PRIMITIVES:
            expected = (
                before == after
                or (before, after) in ALLOWED_ALWAYS
                or (version == 3 and (before, after) in ALLOWED_IN_V3)
            )
            assert can_promote(before, after, version) == expected, (before, after)
            if not expected:
                assert refusal(before, after, version)


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [((9, 2), (18, 2), True), ((9, 2), (9, 2), True), ((9, 2), (8, 2), False), ((9, 2), (18, 3), False), ((9, 2), (38, 2), True)],
)  # fmt: skip
def test_a_decimal_widens_its_precision_and_keeps_its_scale(before, after, allowed):
    assert can_promote(t.DecimalType(*before), t.DecimalType(*after), 1) == allowed


def test_unknown_promotes_to_nested_types_too_in_v3():
    assert can_promote(t.UNKNOWN, t.ListType(1, t.INT), 3)
    assert not can_promote(t.UNKNOWN, t.ListType(1, t.INT), 2)


@pytest.mark.parametrize(
    ("before", "after", "version", "why"),
    [
        (t.DATE, t.TIMESTAMP, 2, "needs format version 3"),
        (t.DATE, t.TIMESTAMPTZ, 3, "no time zone"),
        (t.LONG, t.INT, 3, "narrows"),
        (t.DecimalType(9, 2), t.DecimalType(9, 3), 3, "scale"),
        (t.DecimalType(9, 2), t.DecimalType(8, 2), 3, "precision"),
        (t.INT, t.StructType(()), 3, "cannot become each other"),
        (t.INT, t.STRING, 3, "not a promotion"),
    ],
)
def test_a_refusal_says_why(before, after, version, why):
    assert why in refusal(before, after, version)


def test_a_date_becomes_midnight_and_outside_the_range_it_fails():
    assert promote_value(t.DATE, t.TIMESTAMP, -1) == -86_400_000_000
    assert promote_value(t.DATE, t.TIMESTAMP_NS, 1) == 86_400_000_000_000
    assert promote_value(t.INT, t.LONG, 5) == 5
    assert promote_value(t.DATE, t.TIMESTAMP, None) is None
    with pytest.raises(InvalidInput, match="outside the range"):
        promote_value(t.DATE, t.TIMESTAMP_NS, 2**31 - 1)
    with pytest.raises(InvalidInput, match="not a date"):
        promote_value(t.DATE, t.TIMESTAMP, "x")


@pytest.mark.parametrize(("transform", "changes"), [("identity", True), ("bucket[4]", True), ("day", False), ("year", False), ("month", False), ("void", False)])  # fmt: skip
def test_only_transforms_whose_values_change_forbid_a_date_to_become_a_timestamp(transform, changes):
    assert changes_partition_values(t.DATE, t.TIMESTAMP, transform) == changes
    assert not changes_partition_values(t.INT, t.LONG, transform)
