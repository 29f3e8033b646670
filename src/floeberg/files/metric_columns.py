"""The metrics of single columns, taken out of a manifest's maps: `lower_bounds.7` is the lower bound of field 7."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

NULL_COUNTS: Final = "null_value_counts"
METRIC_MAPS: Final = ("value_counts", NULL_COUNTS, "nan_value_counts", "lower_bounds", "upper_bounds")
ALL_MAPS: Final = ("column_sizes", *METRIC_MAPS)
_AS_IT_IS: Final = pl.CompatLevel.newest()
"""Arrow of the layout that polars has, so that nothing is copied on the way."""


def metric_name(metric: str, field_id: int) -> str:
    """The name of the column that holds a metric of a field."""
    return f"{metric}.{field_id}"


def metric_names(field_ids: Iterable[int]) -> list[str]:
    """The names of all metric columns of some fields."""
    return [metric_name(metric, field_id) for field_id in sorted(field_ids) for metric in METRIC_MAPS]


def missing_metric(name: str, height: int) -> pl.Series:
    """The column of a metric that no file has."""
    dtype = pl.Binary if "bounds" in name else pl.Int64
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, height)


def with_metric_columns(frame: pl.DataFrame, field_ids: Iterable[int]) -> pl.DataFrame:
    """The frame with the metrics of some fields as columns of their own; null where a map lacks the field."""
    wanted = sorted(field_ids)
    if not wanted:
        return frame
    return frame.hstack([column for metric in METRIC_MAPS for column in _values_of(frame.get_column(metric), wanted)])


def _values_of(maps: pl.Series, field_ids: list[int]) -> list[pl.Series]:
    """A metric of some fields. The pairs are looked at where they lie: as Arrow they are not copied."""
    names = {field_id: metric_name(maps.name, field_id) for field_id in field_ids}
    lists = maps.to_arrow(compat_level=_AS_IT_IS)
    offsets = lists.offsets.to_numpy()
    if not len(maps) or offsets[0] == offsets[-1]:
        return [missing_metric(name, len(maps)) for name in names.values()]
    keys, values = lists.values.flatten()
    found = {field_id: _places(keys.to_numpy(), offsets, field_id) for field_id in field_ids}
    pairs = pl.Series(values)
    return [pairs[found[field_id]].alias(name) for field_id, name in names.items()]


def _places(keys: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], field_id: int) -> pl.Series:
    """Where each row's value of the field is among the pairs of all rows; null where it has none."""
    starts, ends = offsets[:-1], offsets[1:]
    found = np.flatnonzero(keys[offsets[0] : offsets[-1]] == field_id) + offsets[0]
    if len(found) == len(starts) and (found >= starts).all() and (found < ends).all():
        return pl.Series(found.astype(np.uint32))  # each row has it once, as is common
    places = np.full(len(starts), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(starts)), ends - starts)
    places[rows[found - offsets[0]]] = found  # of a key that stands twice the last value counts, as in a dict
    return pl.Series(places).replace(-1, None).cast(pl.UInt32)
