"""What a Spark Connect server runs in Python of its own."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import UnsupportedFeature
from floeberg.spark.streaming.server_function import needs_floeberg_in_server


def test_a_server_without_floeberg_is_named_with_the_way_out():
    with (
        pytest.raises(UnsupportedFeature, match="PYSPARK_PYTHON in its environment"),
        needs_floeberg_in_server("a streaming write"),
    ):
        raise PySparkException(
            "[STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE] … ModuleNotFoundError: No module named 'floeberg'"
        )


def test_other_errors_of_a_start_stay_as_they_are():
    with (
        pytest.raises(PySparkException, match="No module named 'other'"),
        needs_floeberg_in_server("a streaming write"),
    ):
        raise PySparkException("No module named 'other'")
