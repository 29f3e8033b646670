"""The metrics of single columns, taken out of a manifest frame's maps: `lower_bounds.7` is the lower bound of field 7."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

METRIC_MAPS: Final = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
ALL_MAPS: Final = ("column_sizes", *METRIC_MAPS)


def metric_name(metric: str, field_id: int) -> str:
    """The name of the column that holds a metric of a field."""
    return f"{metric}.{field_id}"


def metric_names(field_ids: Iterable[int]) -> list[str]:
    """The names of all metric columns of some fields."""
    return [metric_name(metric, field_id) for field_id in sorted(field_ids) for metric in METRIC_MAPS]


def with_metric_columns(frame: pl.DataFrame, field_ids: Iterable[int]) -> pl.DataFrame:
    """The frame with the metrics of some fields as columns of their own; null where a map lacks the field."""
    wanted = sorted(field_ids)
    if not wanted:
        return frame
    columns: list[pl.Series] = []
    for metric in METRIC_MAPS:
        columns += _values_of(frame.get_column(metric), metric, wanted)
    return frame.with_columns(columns)


def _values_of(maps: pl.Series, metric: str, field_ids: list[int]) -> list[pl.Series]:
    lengths = maps.list.len().fill_null(0).to_numpy()
    pairs = maps.explode(empty_as_null=False, keep_nulls=False)
    keys = pairs.struct.field("key").to_numpy()
    values = pairs.struct.field("value")
    starts: npt.NDArray[np.int64] = np.cumsum(lengths, dtype=np.int64) - lengths
    rows = None
    columns: list[pl.Series] = []
    for field_id in field_ids:
        name = metric_name(metric, field_id)
        regular = _same_place(keys, starts, lengths, field_id)
        if regular is not None:
            columns.append(values.gather(regular).alias(name))
            continue
        if rows is None:
            rows = np.repeat(np.arange(len(maps)), lengths)
        found = np.flatnonzero(keys == field_id)
        places = np.full(len(maps), -1, dtype=np.int64)
        places[rows[found]] = found  # of a key that stands twice the last value counts, as in a dict
        indices = pl.Series(places).replace(-1, None)
        columns.append(values.gather(indices).alias(name))
    return columns


def _same_place(
    keys: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.uint32],
    field_id: int,
) -> npt.NDArray[np.int64] | None:
    """Where the field's values are, when every row has the field once and at the same place, as is common."""
    if not len(lengths) or not lengths[0]:
        return None
    first = np.flatnonzero(keys[: lengths[0]] == field_id)
    if len(first) != 1 or int(lengths.min()) <= first[0]:
        return None
    places: npt.NDArray[np.int64] = starts + first[0]
    if (keys[places] != field_id).any() or int((keys == field_id).sum()) != len(lengths):
        return None
    return places
