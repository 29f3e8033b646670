"""One of several processes that append to one table at the same time: `python commit_racer.py <type> <folder> <name> <n>`."""

from __future__ import annotations

import sys

import floeberg as fb
from floeberg.commit.append import Append
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat


def lake(kind: str, folder: str) -> fb.Catalog:
    uri = f"sqlite:///{folder}/lake.db" if kind == "sql" else None
    return fb.catalog("lake", type=kind, warehouse=f"{folder}/warehouse", uri=uri)


def main(kind: str, folder: str, name: str, commits: int) -> None:
    table = lake(kind, folder).load_table("db.t")
    sys.stdin.readline()  # all begin together
    for number in range(commits):
        file = DataFile(
            file_path=f"{table.location}/data/{name}-{number}.parquet",
            file_format=FileFormat.PARQUET,
            record_count=1,
            file_size_in_bytes=100,
        )
        committed = table._commit(Append(files=[file]))
        print(committed.snapshots[0].snapshot_id, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
