# ruff: noqa: E501
"""Finds code of the package that nothing in the package uses, by vulture. What is allowed says why it is there."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
PUBLIC = ROOT / "docs" / "reference" / "public-api.txt"

ALLOWED = {
    "called by Python, pyarrow, typer or SQLAlchemy": {
        "__getattr__", "__dir__", "__call__", "readable", "writable", "seekable", "readall", "readinto", "closed", "list_commands",
        "__signature__", "scanner", "trace", "memo", "protocol", "_connected", "_begin", "serve", "ui", "compute_stats",
    },
    "methods of PySpark's classes": {
        "whenMatched", "whenNotMatched", "whenNotMatchedBySource", "withSchemaEvolution", "updateAll", "insertAll", "tableProperty",
        "partitionedBy", "clusterBy", "createOrReplace", "overwritePartitions", "_root_plan_id", "streamReader", "initialOffset", "latestOffset", "getDefaultReadLimit", "prepareForTriggerAvailableNow", "streamWriter", "getMessage", "objectType", "objectName", "callSite",
    },
    "read by the page's templates": {"first_snapshot", "in_history", "partition_count", "skew", "small_files"},
    "found by name": {"open_hdfs_store", "open_object_store"},
    "for REST catalogs": {
        "parse_json", "write_json",
        "parse_update", "TABLE_UPDATES", "VIEW_UPDATES", "type_from_json",
        "UntrustedImplementation",
    },

    "for the procedures that import and rewrite files": {
        "DeleteFiles", "write_manifest_frame", "stored_partition_type",
    },
    "for statistics": {"read_blob", "total_files"},
    "used by floeberg.testing": {"FixedStores"},
    "members of enumerations, read from properties": {"NULLS_LAST", "SNAPSHOT", "FILES_ASC", "IGNORE"},
    "fields of records, kept as they were read": {
        "any_name", "atomic_rename", "list_consistent", "partition_spec", "log_entries", "view_versions", "has_partition_clause",
    },
}  # fmt: skip
FOUND = re.compile(r"(?P<place>[^:]+:\d+): unused \w+ '(?P<name>[^']+)'")


def main() -> int:
    allowed = {name for names in ALLOWED.values() for name in names}
    public = set(re.findall(r"\w+", PUBLIC.read_text(encoding="utf-8")))
    command = [sys.executable, "-m", "vulture", "src/floeberg", "--min-confidence", "60", "--exclude", "*/testing/*"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    matches = [found for line in lines if (found := FOUND.match(line)) is not None]
    unused = [found for found in matches if found["name"] not in allowed | public]
    stale = allowed - {found["name"] for found in matches}
    for found in unused:
        print(
            f"{found['place']}: nothing in the package uses {found['name']!r}; remove it, or say in {__file__} why it stays"
        )
    for name in sorted(stale):
        print(f"{__file__}: {name!r} is used or gone; remove it from the list")
    return 1 if unused or stale else 0


if __name__ == "__main__":
    sys.exit(main())
