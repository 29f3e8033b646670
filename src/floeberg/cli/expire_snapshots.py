"""`floeberg expire-snapshots`: expires snapshots and deletes the files that only they reach."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, parse_time, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput

OlderOption = Annotated[
    str | None,
    typer.Option("--older-than", metavar="TIME", help="Snapshots from before then: 2026-05-01 or 2026-05-01T12:00Z (UTC)."),
]  # fmt: skip
RetainOption = Annotated[
    int | None, typer.Option("--retain-last", min=1, metavar="N", help="The last so many of each branch stay.")
]
OnlyOption = Annotated[
    list[int] | None, typer.Option("--snapshot", metavar="ID", help="Also this snapshot. May be repeated.")
]
CleanOption = Annotated[
    bool, typer.Option("--clean-expired-metadata", help="Also drop schemas and specs that no snapshot needs any more.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it: files are deleted for good.")]


@with_shared_options
def expire_snapshots(
    target: Target,
    printer: Printer,
    table: TableArgument,
    older_than: OlderOption = None,
    retain_last: RetainOption = None,
    snapshot: OnlyOption = None,
    clean_expired_metadata: CleanOption = False,
    yes: YesOption = False,
) -> None:
    """Expire old snapshots and delete the files that only they reach. Needs --yes.

    What is left out comes from the table's history.expire properties. Heads of branches and tags stay.

    floeberg expire-snapshots db.orders --older-than 2026-05-01 --retain-last 10 --yes
    """
    if not yes:
        raise InvalidInput("expire-snapshots deletes files for good; say --yes to do it")
    expired = target.table(table).maintenance.expire_snapshots(
        older_than=parse_time(older_than),
        retain_last=retain_last,
        snapshot_ids=snapshot or (),
        clean_expired_metadata=clean_expired_metadata,
    )
    deleted = expired.deleted
    printer.result(
        {
            "expired_snapshots": len(expired.snapshot_ids),
            "deleted_data_files": deleted.data_files,
            "deleted_position_delete_files": deleted.position_delete_files,
            "deleted_equality_delete_files": deleted.equality_delete_files,
            "deleted_manifests": deleted.manifests,
            "deleted_manifest_lists": deleted.manifest_lists,
            "deleted_statistics_files": deleted.statistics_files,
            "left": list(deleted.left),
        }
    )
