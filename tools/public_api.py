"""The public API (every name of `floeberg.__all__`, with signatures) as text: written, or checked against the file."""

from __future__ import annotations

import argparse
import difflib
import enum
import inspect
import pathlib
import sys

import floeberg

COMMITTED = pathlib.Path(__file__).parent.parent / "docs" / "reference" / "public-api.txt"


def signature(thing: object) -> str:
    try:
        return str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(…)"


def members(thing: type) -> dict[str, object]:
    """What a class has, from its own bases too; what it inherits from elsewhere is not ours to promise."""
    found: dict[str, object] = {}
    for base in reversed(thing.__mro__):
        if base.__module__.partition(".")[0] == "floeberg":
            found.update(vars(base))
    return found


def describe(name: str, thing: object) -> list[str]:
    if inspect.isclass(thing):
        bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
        lines = [f"class {name}({bases})" if bases else f"class {name}"]
        if issubclass(thing, enum.Enum):
            return lines + [f"    {member.name} = {member.value!r}" for member in thing]
        if not issubclass(thing, BaseException):
            lines.append(f"    __init__{signature(thing)}")
        for attribute, raw in sorted(members(thing).items()):
            if attribute.startswith("_"):
                continue
            member = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
            if inspect.isfunction(member):
                lines.append(f"    {attribute}{signature(member)}")
            else:
                lines.append(f"    {attribute}")
        return lines
    if callable(thing):
        return [f"{name}{signature(thing)}"]
    return [f"{name}: {type(thing).__name__}"]


def public_api() -> str:
    lines: list[str] = []
    for name in sorted(floeberg.__all__):
        lines += [*describe(name, getattr(floeberg, name)), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    now = public_api()
    if arguments.write:
        COMMITTED.write_text(now)
        return 0
    committed = COMMITTED.read_text() if COMMITTED.exists() else ""
    if now == committed:
        return 0
    sys.stdout.writelines(difflib.unified_diff(committed.splitlines(True), now.splitlines(True), "committed", "now"))
    print("\nThe public API changed. If that is meant: make api-update, and say so in CHANGELOG.md.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
