"""Arguments of CALL: by position or by name, checked against what a procedure takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.sql.statements.call_statement import Argument, ExpressionText, TemporalText
from floeberg.sql.text.lexer import quote_string

STRING: Final = "string"
LONG: Final = "bigint"
INT: Final = "int"
BOOLEAN: Final = "boolean"
TIMESTAMP: Final = "timestamp"
LONGS: Final = "array<bigint>"
TEXTS: Final = "array<string>"
STRINGS: Final = "map<string, string>"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a procedure takes under a name."""

    name: str
    type: str
    required: bool = False


def required(name: str, type: str) -> Parameter:
    return Parameter(name, type, required=True)


def bind_arguments(
    execution: Execution, procedure: str, parameters: tuple[Parameter, ...], arguments: tuple[Argument, ...]
) -> dict[str, Any]:
    """The value of each parameter, None where it is not given. Raises InvalidInput with what the procedure takes."""
    usage = f"{procedure}({', '.join(_shown(parameter) for parameter in parameters)})"
    by_name = {parameter.name: parameter for parameter in parameters}
    values: dict[str, Any] = {parameter.name: None for parameter in parameters}
    given: set[str] = set()
    for number, argument in enumerate(arguments):
        if argument.name is None and number >= len(parameters):
            raise InvalidInput(f"CALL: too many arguments for {usage}")
        name = parameters[number].name if argument.name is None else argument.name.lower()
        if name not in by_name:
            raise InvalidInput(f"CALL: unknown argument {name!r}; the procedure is {usage}")
        if name in given:
            raise InvalidInput(f"CALL: argument {name!r} is given twice; the procedure is {usage}")
        given.add(name)
        values[name] = _value(execution, by_name[name], argument.value)
    missing = [parameter.name for parameter in parameters if parameter.required and values[parameter.name] is None]
    if missing:
        raise InvalidInput(f"CALL: argument {missing[0]!r} is missing; the procedure is {usage}")
    return values


def _shown(parameter: Parameter) -> str:
    return f"{parameter.name} {parameter.type}" + (" required" if parameter.required else "")


def _value(execution: Execution, parameter: Parameter, given: object) -> Any:
    """Raises InvalidInput when the value is of another kind than the parameter."""
    if given is None:
        return None
    if parameter.type == TIMESTAMP:
        return _milliseconds(execution, parameter, given)
    if isinstance(given, ExpressionText):
        span = given.span
        given = execution.value(span.of(execution.sql), within=f"CAST({{}} AS {parameter.type})")
        return given
    if parameter.type in (LONG, INT) and isinstance(given, int) and not isinstance(given, bool):
        return given
    if parameter.type == STRING and isinstance(given, str):
        return given
    if parameter.type in (LONG, INT, BOOLEAN) and isinstance(given, str):
        value = execution.value(quote_string(given), within=f"try_cast({{}} AS {parameter.type})")
        if value is not None:
            return value
    if parameter.type == BOOLEAN and isinstance(given, bool):
        return given
    if parameter.type == LONGS and isinstance(given, list):
        return [_member(execution, Parameter(parameter.name, LONG), value) for value in given]
    if parameter.type == TEXTS and isinstance(given, list):
        return [_member(execution, Parameter(parameter.name, STRING), value) for value in given]
    if parameter.type == STRINGS and isinstance(given, Mapping):
        text = Parameter(parameter.name, STRING)
        return {
            str(key): _member(execution, text, value) if isinstance(value, ExpressionText) else str(value)
            for key, value in given.items()
        }
    raise InvalidInput(f"CALL: argument {parameter.name!r} must be {parameter.type}, not {given!r:.60}")


def _member(execution: Execution, parameter: Parameter, given: object) -> Any:
    """A value in a list or map. Raises InvalidInput when it is null or of another kind."""
    value = _value(execution, parameter, given)
    if value is None:
        raise InvalidInput(f"CALL: argument {parameter.name!r} holds a null")
    return value


def _milliseconds(execution: Execution, parameter: Parameter, given: object) -> int:
    within = "unix_millis(CAST({} AS TIMESTAMP))"
    if isinstance(given, ExpressionText):
        value = execution.value(given.span.of(execution.sql), within=within)
    elif isinstance(given, TemporalText):
        value = execution.value(f"{given.type} {quote_string(given.text)}", within=within)
    elif isinstance(given, str):
        value = execution.value(quote_string(given), within=within)
    else:
        raise InvalidInput(f"CALL: argument {parameter.name!r} must be a timestamp, not {given!r:.60}")
    if value is None:
        raise InvalidInput(f"CALL: argument {parameter.name!r} is no timestamp")
    return int(value)
