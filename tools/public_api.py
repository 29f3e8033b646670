"""The public API as text: every name of `floeberg.__all__`, every class of `floeberg.errors` and `floeberg.types`, and the
classes whose objects they give, with all methods and signatures. Written, or checked against the file."""

from __future__ import annotations

import argparse
import difflib
import enum
import inspect
import pathlib
import sys
from types import ModuleType

import floeberg
from floeberg.api.inspect import Inspect
from floeberg.api.maintenance import Maintenance
from floeberg.api.update import ManageRefs, UpdateProperties, UpdateSchema, UpdateSortOrder, UpdateSpec
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.snapshots.refs import SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot

COMMITTED = pathlib.Path(__file__).parent.parent / "docs" / "reference" / "public-api.txt"

GIVEN = (
    Inspect, Maintenance, ManageRefs, PartitionSpec, Snapshot, SnapshotRef, SortOrder, UpdateProperties, UpdateSchema,
    UpdateSortOrder, UpdateSpec,
)  # fmt: skip
"""Classes whose objects users get and never make."""

MADE_BY_US = {
    "AppendScan", "Catalog", "ChangeScan", "Inspect", "Maintenance", "ManageRefs", "Scan", "StagedTable", "Table",
    "Transaction", "UpdateProperties", "UpdateSchema", "UpdateSortOrder", "UpdateSpec", "View",
}  # fmt: skip
"""Classes whose constructors are no promise: a function or method makes them."""


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
    if isinstance(thing, ModuleType):
        return describe_module(name, thing)
    if inspect.isclass(thing):
        return describe_class(name, thing)
    if callable(thing):
        return [f"{name}{signature(thing)}"]
    return [f"{name}: {type(thing).__name__}"]


def describe_module(name: str, module: ModuleType) -> list[str]:
    """The classes and functions that a public module defines itself, and its constants."""
    lines = [f"module {name}"]
    for attribute, thing in sorted(vars(module).items()):
        is_own = getattr(thing, "__module__", None) == module.__name__
        if attribute.startswith("_") or not (is_own or attribute.isupper()):
            continue
        lines += [f"    {line}" for line in describe(attribute, thing)]
    return lines


def describe_class(name: str, thing: type) -> list[str]:
    bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
    lines = [f"class {name}({bases})" if bases else f"class {name}"]
    if issubclass(thing, enum.Enum):
        return lines + [f"    {member.name} = {member.value!r}" for member in thing]
    if issubclass(thing, BaseException):
        flags = [flag for flag in ("retryable", "cleanup_safe") if getattr(thing, flag, False)]
        return [f"{lines[0]} {' '.join(flags)}".rstrip()]
    if name not in MADE_BY_US:
        lines.append(f"    __init__{signature(thing)}")
    for attribute, raw in sorted(members(thing).items()):
        if attribute.startswith("_"):
            continue
        lines.append(f"    {described_member(attribute, raw)}")
    return lines


def described_member(name: str, raw: object) -> str:
    member = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    if inspect.isfunction(member):
        return f"{name}{signature(member)}"
    getter = getattr(member, "fget", None) or getattr(member, "func", None)
    returned = getattr(getter, "__annotations__", {}).get("return")
    return name if returned is None else f"{name}: {returned}"


def public_api() -> str:
    lines: list[str] = []
    for name in sorted(floeberg.__all__):
        lines += [*describe(name, getattr(floeberg, name)), ""]
    lines += ["# Classes whose objects these give", ""]
    for thing in sorted(GIVEN, key=lambda one: one.__name__):
        lines += [*describe(thing.__name__, thing), ""]
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
