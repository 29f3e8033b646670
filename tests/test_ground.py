"""The ground rules of the repository, held by tests."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

import floeberg
from floeberg import errors

SOURCE = pathlib.Path(floeberg.__file__).parent

EFFECT_CALLS = {
    ("time", "time"), ("time", "time_ns"), ("time", "sleep"), ("time", "monotonic"), ("time", "monotonic_ns"),
    ("time", "perf_counter"), ("uuid", "uuid1"), ("uuid", "uuid4"), ("random", "random"), ("random", "Random"),
    ("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("os", "urandom"),
}  # fmt: skip
MAY_TOUCH_THE_WORLD = ("effects/", "storage/", "testing/", "cli/")


def source_files() -> list[pathlib.Path]:
    return sorted(SOURCE.rglob("*.py"))


def calls_of(tree: ast.AST) -> list[tuple[int, str, str]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                found.append((node.lineno, node.func.value.id, node.func.attr))
            elif isinstance(node.func, ast.Name):
                found.append((node.lineno, "", node.func.id))
    return found


def test_only_effects_and_storage_touch_the_world() -> None:
    offenders = []
    for path in source_files():
        relative = path.relative_to(SOURCE).as_posix()
        if relative.startswith(MAY_TOUCH_THE_WORLD):
            continue
        for line, owner, name in calls_of(ast.parse(path.read_text())):
            if (owner, name) in EFFECT_CALLS or (owner, name) in {("", "open"), ("io", "open")}:
                offenders.append(f"{relative}:{line} {owner}.{name}")
    assert offenders == []


def test_no_code_comes_from_data() -> None:
    offenders = []
    for path in source_files():
        tree = ast.parse(path.read_text())
        relative = path.relative_to(SOURCE).as_posix()
        for line, owner, name in calls_of(tree):
            if (owner == "pickle" and name.startswith("load")) or (owner == "" and name in {"eval", "exec"}):
                offenders.append(f"{relative}:{line} {owner}.{name}")
    assert offenders == []


def imported_modules(path: pathlib.Path) -> set[str]:
    """The modules and names that a file imports, as paths with dots."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_a_folder_imports_its_subfolders_or_is_imported_by_them() -> None:
    offenders = []
    imports = {path: imported_modules(path) for path in source_files()}
    for subfolder in sorted({path.parent for path in imports} - {SOURCE}):
        folder = subfolder.parent
        inside = ".".join(subfolder.relative_to(SOURCE.parent).parts) + "."
        files = {path for path in imports if path.parent == folder and path.name != "__init__.py"}
        own = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in files}
        goes_down = any(module.startswith(inside) for path in files for module in imports[path])
        comes_up = any(modules & own for path, modules in imports.items() if subfolder in path.parents)
        if folder != SOURCE and goes_down and comes_up:
            offenders.append(subfolder.relative_to(SOURCE).as_posix())
    assert offenders == []


def test_every_public_name_resolves_and_the_list_is_sorted_by_hand() -> None:
    assert sorted(set(floeberg.__all__)) == sorted(floeberg.__all__)
    for name in floeberg.__all__:
        assert getattr(floeberg, name) is not None


def test_importing_floeberg_loads_nothing_heavy() -> None:
    heavy = ["pyarrow", "polars", "pyspark", "sqlalchemy", "obstore", "fastavro", "numpy", "msgspec"]
    script = f"import sys, floeberg; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = floeberg.nonsense


def test_errors_keep_message_and_context_over_a_process_border() -> None:
    import pickle

    error = errors.ValidationConflict("table db.t: file x was removed", table="db.t", files=["x"])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.ValidationConflict
    assert str(again) == str(error)
    assert again.context == {"table": "db.t", "files": ["x"]}


def test_flags_say_what_a_caller_may_do() -> None:
    assert errors.CommitConflict.retryable
    assert errors.CommitConflict.cleanup_safe
    assert errors.ValidationConflict.cleanup_safe
    assert not errors.ValidationConflict.retryable
    assert not errors.CommitUnknown.cleanup_safe
    assert not errors.CommitUnknown.retryable


def test_the_drawn_tree_names_every_error() -> None:
    drawn = errors.__doc__ or ""
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.FloebergError)]
    assert [c.__name__ for c in classes if c.__name__ not in drawn] == []
