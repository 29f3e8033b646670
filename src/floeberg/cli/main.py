"""The entry point of the `floeberg` command: runs it, and turns what goes wrong into one line and an exit code.

0   done                                   4   a table or file is corrupt, or uses what is not supported
1   `check` found errors                   5   a store or catalog failed or refused
2   wrong usage or bad input               70  a fault of the program: please report it, with --debug's output
3   a table, snapshot or file is not there 130 interrupted
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from floeberg.errors import AlreadyExists, FloebergError, FormatError, InvalidInput, NotFound
from floeberg.storage.secret import redact

OK: Final = 0
FOUND_ERRORS: Final = 1
BAD_INPUT: Final = 2
NOT_FOUND: Final = 3
CORRUPT: Final = 4
FAILED: Final = 5
FAULT: Final = 70
INTERRUPTED: Final = 130
DEBUG: Final = "--debug"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and ends the process. One whose output nobody reads any more (`| head`) ends as other programs do,
    by the signal."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Runs the command; its exit code. `--debug`, anywhere, lets errors through as they are."""
    try:
        app = importlib.import_module("floeberg.cli.app")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write("error: the floeberg command needs typer and rich: pip install 'floeberg[cli]'\n")
        return FAILED
    debug = DEBUG in arguments
    try:
        code = app.invoke([argument for argument in arguments if argument != DEBUG])
        sys.stdout.flush()
        return int(code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough; Python must not complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except FloebergError as error:
        if debug:
            raise
        sys.stderr.write(f"error: {one_line(str(error))}\n")
        return exit_code(error)
    except Exception as error:
        if debug:
            raise
        what = one_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"error: an unexpected {what}; run again with --debug and report what it prints\n")
        return FAULT


def exit_code(error: FloebergError) -> int:
    """The exit code for an error."""
    for kind, code in (
        (InvalidInput, BAD_INPUT),
        (AlreadyExists, BAD_INPUT),
        (NotFound, NOT_FOUND),
        (FormatError, CORRUPT),
    ):
        if isinstance(error, kind):
            return code
    return FAILED


def one_line(text: str) -> str:
    """A message as it may be shown: on one line, without credentials."""
    return redact(" ".join(text.split()))
