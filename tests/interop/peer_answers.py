"""How a peer's script answers: requests come as JSON on its input, and each is answered by a line of JSON.

Imported by the peers' interpreters, which have neither our package nor its needs.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

Answer = tuple[list[str], list[str]]
"""The names of columns, and rows as the text of SQL scripts."""


def answer_all(answer: Callable[[str, str], Answer]) -> None:
    """Answers every request by a function of (metadata location, query), and ends the process."""
    for request in json.load(sys.stdin):
        try:
            columns, rows = answer(request["metadata_location"], request["query"])
            said: dict[str, object] = {"columns": columns, "rows": rows}
        except BaseException as error:  # whatever fails is the answer; Rust's panics are no Exception
            said = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:1500]}"}
        print(json.dumps(said), flush=True)
    os._exit(0)
