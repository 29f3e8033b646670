"""What goes wrong is one line with the way out, and an exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from floeberg.cli import app
from floeberg.errors import CommitUnknown, PathEscape, TableNotFound, Unavailable
from golden_collection.golden_tables import arguments, copy_golden


def test_a_table_that_is_not_there_is_3(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, err = floeberg("describe", str(tmp_path / "nothing"))
    assert code == 3
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert floeberg("describe", "db.t", "--warehouse", str(tmp_path)).code == 3


def test_wrong_usage_is_2_with_help(floeberg) -> None:  # type: ignore[no-untyped-def]
    assert floeberg().code == 2
    code, _, err = floeberg("describe")
    assert code == 2
    assert "TABLE" in err
    assert floeberg("nonsense").code == 2
    assert floeberg("files", "t", "--content", "nonsense").code == 2
    code, _, err = floeberg("describe", "db.t")
    assert code == 2
    assert err == "error: no catalog; give --warehouse PATH, or write a [catalog.NAME] table into floeberg.toml\n"
    code, _, err = floeberg("describe", "db.t", "--relocate", "a=b", "--warehouse", "w")
    assert code == 2
    assert "--relocate and --lenient are for a metadata file" in err


def test_a_corrupt_table_is_4(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = copy_golden("gperov_test", tmp_path)
    next(folder.glob("metadata/66ee5e5e*-m0.avro")).write_bytes(b"nonsense")
    code, _, err = floeberg("files", *arguments("gperov_test", folder))
    assert code == 4
    assert "66ee5e5e" in err
    assert "Traceback" not in err


def test_debug_lets_the_whole_error_through_wherever_it_stands(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for order in (["--debug", "describe", str(tmp_path)], ["describe", str(tmp_path), "--debug"]):
        with pytest.raises(TableNotFound):
            floeberg(*order)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unavailable("store http://me:hunter2@host/ did not answer"), 5),
        (CommitUnknown("unknown"), 5),
        (PathEscape("outside"), 5),
        (KeyError("oops"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_other_errors_have_codes_of_their_own_and_no_secrets(
    floeberg, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:  # type: ignore[no-untyped-def]
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(app, "invoke", fail)
    found, _, err = floeberg("describe", "db.t")
    assert found == code
    assert "hunter2" not in err
    assert err.count("\n") == (0 if code == 130 else 1)
    if code == 70:
        assert "run again with --debug" in err


def test_a_reader_that_has_enough_is_no_error() -> None:
    script = "from floeberg.cli.main import main; main()"
    shown = subprocess.run(
        f"{sys.executable} -c '{script}' scan {' '.join(arguments('gperov_test'))} -o json | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.count("\n") == 1
    assert shown.stderr == ""


def test_without_typer_the_way_out_is_said() -> None:
    script = (
        "import sys; sys.modules['typer'] = None\nfrom floeberg.cli.main import run; raise SystemExit(run(['--help']))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert shown.returncode == 5
    assert shown.stderr == "error: the floeberg command needs typer and rich: pip install 'floeberg[cli]'\n"
