"""The metrics of single columns, taken out of a manifest frame's maps: `lower_bounds.7` is the lower bound of field 7."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

NULL_COUNTS: Final = "null_value_counts"
METRIC_MAPS: Final = ("value_counts", NULL_COUNTS, "nan_value_counts", "lower_bounds", "upper_bounds")
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
    lengths = frame.select(pl.col(metric).list.len().fill_null(0) for metric in METRIC_MAPS)
    columns: list[pl.Series] = []
    for metric in METRIC_MAPS:
        columns += _values_of(frame, metric, lengths.get_column(metric).to_numpy(), wanted)
    return frame.hstack(columns)


def _values_of(
    frame: pl.DataFrame, metric: str, lengths: npt.NDArray[np.uint32], field_ids: list[int]
) -> list[pl.Series]:
    names = {field_id: metric_name(metric, field_id) for field_id in field_ids}
    if not lengths.any():
        dtype = pl.Binary if metric.endswith("bounds") else pl.Int64
        return [pl.Series(name, [None], dtype=dtype).new_from_index(0, frame.height) for name in names.values()]
    pairs = frame.select(pl.col(metric).explode(empty_as_null=False, keep_nulls=False)).unnest(metric)
    keys = pairs.get_column("key").to_numpy()
    places = {field_id: _places(keys, lengths, field_id) for field_id in field_ids}
    return pairs.select(
        pl.col("value").gather(pl.Series(places[field_id])).alias(name)
        if places[field_id].min(initial=0) >= 0
        else pl.col("value").gather(pl.Series(places[field_id]).replace(-1, None)).alias(name)
        for field_id, name in names.items()
    ).get_columns()


def _places(keys: npt.NDArray[np.int32], lengths: npt.NDArray[np.uint32], field_id: int) -> npt.NDArray[np.int64]:
    """Where each row's value of the field is among the pairs of all rows; -1 where it has none."""
    starts: npt.NDArray[np.int64] = np.cumsum(lengths, dtype=np.int64) - lengths
    found = np.flatnonzero(keys == field_id)
    if len(found) == len(lengths) and (found >= starts).all() and (found < starts + lengths).all():
        return found  # each row has it once, as is common
    places = np.full(len(lengths), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places[rows[found]] = found  # of a key that stands twice the last value counts, as in a dict
    return places
