"""Our procedures take the parameters of the Java runtime's, by the same names, types and positions, and answer with its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from floeberg.spark.procedures.declared import PROCEDURES, SESSION_PROCEDURES

JAVA: Final[dict[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_name("java_procedures.json").read_text(encoding="utf-8")
)
"""As the Java runtime 1.12 on Spark 4.1 declares them: a parameter's name, type and whether it is required; the columns of an
answer where one was asked for."""
OURS: Final = {**PROCEDURES, **SESSION_PROCEDURES}


@pytest.mark.parametrize("name", JAVA)
def test_a_procedure_is_called_as_in_the_java_runtime_and_answers_as_it_does(name: str) -> None:
    own = [[one.name, one.type.replace(" ", ""), one.required] for one in OURS[name].parameters]
    assert own == JAVA[name]["parameters"]
    if "result" in JAVA[name]:
        columns = [column.split(" ") for column in OURS[name].result.split(", ")]
        assert [[column, kind.lower()] for column, kind in columns] == JAVA[name]["result"]


def test_no_procedure_of_the_java_runtime_is_missing() -> None:
    assert set(JAVA) <= set(OURS)
