"""PyIceberg's visitors as another opinion. Where the two differ, the difference must be one of those named here."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from pyiceberg import expressions as pe
from pyiceberg import types as pt
from pyiceberg.expressions import visitors as pv
from pyiceberg.expressions.literals import literal as py_literal
from pyiceberg.manifest import DataFile as PyDataFile
from pyiceberg.manifest import DataFileContent, PartitionFieldSummary
from pyiceberg.manifest import FileFormat as PyFileFormat
from pyiceberg.manifest import ManifestFile as PyManifestFile
from pyiceberg.partitioning import PartitionField as PyPartitionField
from pyiceberg.partitioning import PartitionSpec as PyPartitionSpec
from pyiceberg.schema import Schema as PySchema
from pyiceberg.transforms import parse_transform as py_parse_transform
from pyiceberg.typedef import Record

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps, order_key
from floeberg.expr.literals import literal_from_physical
from floeberg.expr.manifest_eval import summaries_may_match
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.expr.nodes import SET_OPS, UNARY_OPS, Op, Predicate, Reference
from floeberg.expr.projection import inclusive_projection
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import TemporalTransform, parse_transform
from floeberg.spec.snapshots.manifest_entry import DataFile, FieldSummary, FileFormat
from floeberg.spec.values.single_value import to_bytes
from models.strict_projection import strict_projection
from strategies.expressions import COLUMN_IDS, POOLS, SCHEMA, TRANSFORMS, apply_or_none, seeds

COLUMNS = ("i", "l", "d", "dec", "dt", "ts", "s", "bin")
PY_SCHEMA = PySchema(
    pt.NestedField(COLUMN_IDS["i"], "i", pt.IntegerType()), pt.NestedField(COLUMN_IDS["l"], "l", pt.LongType()),
    pt.NestedField(COLUMN_IDS["d"], "d", pt.DoubleType()), pt.NestedField(COLUMN_IDS["dec"], "dec", pt.DecimalType(9, 2)),
    pt.NestedField(COLUMN_IDS["dt"], "dt", pt.DateType()), pt.NestedField(COLUMN_IDS["ts"], "ts", pt.TimestampType()),
    pt.NestedField(COLUMN_IDS["s"], "s", pt.StringType()), pt.NestedField(COLUMN_IDS["bin"], "bin", pt.BinaryType()),
)  # fmt: skip
PY_OPS: dict[Op, Callable[..., pe.BooleanExpression]] = {
    Op.LT: pe.LessThan, Op.LT_EQ: pe.LessThanOrEqual, Op.GT: pe.GreaterThan, Op.GT_EQ: pe.GreaterThanOrEqual,
    Op.EQ: pe.EqualTo, Op.NOT_EQ: pe.NotEqualTo, Op.IN: pe.In, Op.NOT_IN: pe.NotIn, Op.IS_NULL: pe.IsNull,
    Op.NOT_NULL: pe.NotNull, Op.IS_NAN: pe.IsNaN, Op.NOT_NAN: pe.NotNaN, Op.STARTS_WITH: pe.StartsWith,
    Op.NOT_STARTS_WITH: pe.NotStartsWith,
}  # fmt: skip


def moderate(column: str) -> list[Any]:
    """Values away from the ends of their types, where PyIceberg overflows."""
    return [
        v
        for v in POOLS[column][1]
        if not isinstance(v, int)
        or isinstance(v, bool)
        or (abs(v) < 2**54 and v not in (2**31 - 1, -(2**31), -(2**31) + 3))
    ]


def both_predicates(rng: random.Random, column: str) -> tuple[Predicate, pe.BooleanExpression]:
    ops = [op for op in PY_OPS if column == "d" or op not in (Op.IS_NAN, Op.NOT_NAN)]
    op = rng.choice([op for op in ops if column == "s" or op not in (Op.STARTS_WITH, Op.NOT_STARTS_WITH)])
    if op in UNARY_OPS:
        return Predicate(op, Reference(column)), PY_OPS[op](column)
    values = rng.sample([v for v in moderate(column) if v == v and v not in ("", b"")], 3 if op in SET_OPS else 1)
    literals = tuple(literal_from_physical(POOLS[column][0], value) for value in values)
    theirs = [py_literal(value) for value in values]
    return Predicate(op, Reference(column), literals), PY_OPS[op](column, set(theirs) if op in SET_OPS else theirs[0])


def specs(column: str, transform: str) -> tuple[PartitionSpec, PyPartitionSpec]:
    return (
        PartitionSpec(1, (PartitionField((COLUMN_IDS[column],), 1000, "p", parse_transform(transform)),)),
        PyPartitionSpec(PyPartitionField(COLUMN_IDS[column], 1000, py_parse_transform(transform), "p"), spec_id=1),
    )


@settings(max_examples=40)
@given(seeds)
def test_rows(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        column = rng.choice(COLUMNS)
        ours, theirs = both_predicates(rng, column)
        value = rng.choice([None, *moderate(column)])
        kept = keeps(bind(ours, SCHEMA), {column: value})
        row = Record(*(value if field.name == column else None for field in PY_SCHEMA.fields))
        try:
            py_kept = pv.expression_evaluator(PY_SCHEMA, theirs, True)(row)
        except TypeError:
            assert value is None, (str(ours), value)  # PyIceberg compares None with text and numbers
            continue
        if kept is not py_kept:
            # PyIceberg's logic has two values (null != 3 is true), and Python's NaN is unequal to itself and unordered.
            null_differs = value is None and ours.op in (Op.NOT_EQ, Op.NOT_IN, Op.NOT_STARTS_WITH)
            assert null_differs or value != value, (str(ours), value, kept)


def decide(projected: pe.BooleanExpression, py_spec: PyPartitionSpec, partition: object) -> bool:
    return pv.expression_evaluator(PySchema(*py_spec.partition_type(PY_SCHEMA).fields), projected, True)(
        Record(partition)
    )


@settings(max_examples=60)
@given(seeds)
def test_projections(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        column = rng.choice(COLUMNS)
        transform = rng.choice(TRANSFORMS[column])
        ours, theirs = both_predicates(rng, column)
        spec, py_spec = specs(column, transform)
        results = [apply_or_none(parse_transform(transform), POOLS[column][0], value) for value in moderate(column)]
        partition = rng.choice([None, *results])
        inclusive, strict = inclusive_projection(spec, SCHEMA, ours), strict_projection(spec, SCHEMA, ours)
        kept = keeps(inclusive, (partition,)), keeps(strict, (partition,))
        py_kept = (
            decide(pv.inclusive_projection(PY_SCHEMA, py_spec)(theirs), py_spec, partition),
            decide(pv.strict_projection(PY_SCHEMA, py_spec)(theirs), py_spec, partition),
        )
        if kept == py_kept:
            continue
        reasons = {
            "a null partition is not known to differ from a literal": partition is None and ours.op in _NEGATIVE,
            "NaN is greater than any literal": partition != partition,
            "times before 1970 may have been rounded up": _is_time(transform)
            and partition is not None
            and partition <= 0,
            "what overflows its decimal projects to nothing": any("9999999.99" in str(v) for v in ours.literals),
            "a short text is its own prefix": column in ("s", "bin") and transform.startswith("truncate"),
            "a result of one value alone proves that value": ours.op in (Op.EQ, Op.IN) and not py_kept[1],
        }
        assert any(reasons.values()), (str(ours), transform, partition, kept, py_kept)


_NEGATIVE = (Op.NOT_EQ, Op.NOT_IN, Op.NOT_STARTS_WITH)


def _is_time(transform: str) -> bool:
    return isinstance(parse_transform(transform), TemporalTransform)


def both_files(rng: random.Random, column: str) -> tuple[list[object], DataFile, PyDataFile]:
    field_id, data_type = COLUMN_IDS[column], POOLS[column][0]
    values: list[Any] = [rng.choice([None, *moderate(column)]) for _ in range(rng.choice([1, 2, 3]))]
    real = sorted((v for v in values if v is not None and v == v), key=order_key)
    metrics: dict[str, Any] = {
        "value_counts": {field_id: len(values)},
        "null_value_counts": {field_id: values.count(None)},
        "nan_value_counts": {field_id: sum(v != v for v in values)} if column == "d" else {},
        "lower_bounds": {field_id: to_bytes(data_type, real[0])} if real else {},
        "upper_bounds": {field_id: to_bytes(data_type, real[-1])} if real else {},
    }
    common = {"file_path": "f", "record_count": len(values), "file_size_in_bytes": 1}
    mine = DataFile(file_format=FileFormat.PARQUET, **common, **metrics)
    theirs = PyDataFile.from_args(
        content=DataFileContent.DATA, file_format=PyFileFormat.PARQUET, partition=Record(), **common, **metrics
    )
    return values, mine, theirs


@settings(max_examples=60)
@given(seeds)
def test_metrics(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        column = rng.choice(COLUMNS)
        ours, theirs = both_predicates(rng, column)
        values, file, py_file = both_files(rng, column)
        bound = bind(ours, SCHEMA)
        decided = may_contain_match(bound, file), must_all_match(bound, file)
        py_decided = (
            pv._InclusiveMetricsEvaluator(PY_SCHEMA, theirs).eval(py_file),
            pv._StrictMetricsEvaluator(PY_SCHEMA, theirs).eval(py_file),
        )
        if decided == py_decided:
            continue
        truth = [keeps(bound, {column: value}) for value in values]
        reasons = {
            "nulls differ from nothing and start with nothing": None in values and ours.op in _NEGATIVE,
            "NaN is greater than any literal, and counted": any(v != v for v in values),
            "a prefix in both bounds is every value's": ours.op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH),
            "PyIceberg's strict lists are less tight": ours.op in SET_OPS and decided[1] and all(truth),
            "nothing but nulls is proved not to be NaN": ours.op in (Op.NOT_NAN, Op.IS_NAN) and None in values,
        }
        assert any(reasons.values()), (str(ours), values, decided, py_decided)


@settings(max_examples=40)
@given(seeds)
def test_partition_summaries(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        column = rng.choice(COLUMNS)
        ours, theirs = both_predicates(rng, column)
        spec, py_spec = specs(column, "identity")
        values, file, _ = both_files(rng, column)
        lower, upper = (
            (file.lower_bounds or {}).get(COLUMN_IDS[column]),
            (file.upper_bounds or {}).get(COLUMN_IDS[column]),
        )
        null, nan = None in values, any(v != v for v in values)
        summary = FieldSummary(contains_null=null, contains_nan=nan, lower_bound=lower, upper_bound=upper)
        py_summary = PartitionFieldSummary(null, nan, lower, upper)
        manifest = PyManifestFile.from_args(
            manifest_path="m", manifest_length=1, partition_spec_id=1, partitions=[py_summary], added_files_count=1
        )
        decided = summaries_may_match(inclusive_projection(spec, SCHEMA, ours), [summary])
        py_decided = pv.manifest_evaluator(py_spec, PY_SCHEMA, pv.inclusive_projection(PY_SCHEMA, py_spec)(theirs))(
            manifest
        )
        if decided is not py_decided:
            reasons = {
                "a summary without bounds may stand for values of a writer that leaves them out": lower is None,
                "NaN is greater than any literal": nan,
                "nulls start with nothing": ours.op is Op.NOT_STARTS_WITH,
                "PyIceberg compares a list by its ends": ours.op is Op.IN and py_decided,
            }
            assert any(reasons.values()), (str(ours), values, decided, py_decided)
