"""Run by the `flink` peer: statements of SQL, one JSON text a line; each is answered by a line `ANSWER {…}`.

Rows that a query gives come sorted. Arguments: the jars are in pyflink's own folder, where Hadoop's classes are found.
"""

import json
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment


def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.new_instance().in_batch_mode().build())
    settings = made.get_config()
    settings.set("parallelism.default", "1")
    settings.set("table.dml-sync", "true")
    settings.set("table.local-time-zone", "UTC")
    return made


def answer(flink: TableEnvironment, statement: str) -> dict[str, object]:
    try:
        result = flink.execute_sql(statement)
        rows = [[str(value) for value in row] for row in result.collect()] if is_query(statement) else []
    except Exception as error:  # whatever fails is the answer
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:3000]}"}
    return {"rows": sorted(rows)}


def is_query(statement: str) -> bool:
    return statement.split()[0].upper() in ("SELECT", "SHOW")


def main() -> None:
    flink = environment()
    for line in sys.stdin:
        print("ANSWER " + json.dumps(answer(flink, json.loads(line))), flush=True)


main()
