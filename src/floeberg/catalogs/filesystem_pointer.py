"""One table of a filesystem catalog: versions published by create-if-absent.
https://iceberg.apache.org/spec/#file-system-tables

Two rules beyond create-if-absent keep a commit from being lost. The ending of the next version's name is decided by the
base metadata, so that writers who build on the same base want the same name. And a name that was taken may be free again
(metadata clean-up, drop), so a writer that was held up for long can create an old version anew: after a create, the head
is resolved again, and a version that is neither the head nor its ancestor was rejected.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.metadata_files import (
    DELETE_AFTER_COMMIT,
    METADATA_PATH,
    check_same_table,
    decode_metadata,
    encode_metadata,
    is_other_table,
    metadata_suffix,
    read_metadata,
)
from floeberg.catalogs.versions import (
    Version,
    find_head,
    find_head_by_listing,
    listed_versions,
    newer,
    published,
    version_of,
    write_hint,
)
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FileNotFound,
    InvalidInput,
    PreconditionFailed,
    StorageError,
    TableNotFound,
    Unavailable,
    UnsupportedFeature,
    WriteRefused,
)
from floeberg.files.metadata_file import PLAIN_SUFFIX
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.location import join, parse
from floeberg.storage.registry import Stores

FIRST_VERSION: Final = Version(1, PLAIN_SUFFIX)
"""Always plain: creators that differ in the codec must want the same name."""
_MAX_READS: Final = 20
_MAX_DIGESTS: Final = 16


class FilesystemPointer:
    """A table that is a folder of versions."""

    def __init__(self, identifier: str, location: str, *, stores: Stores, effects: Effects) -> None:
        self.identifier = identifier
        self.effects = effects
        self._stores = stores
        self._folder = join(location, "metadata")
        self._store: Store = stores.for_location(self._folder)
        self._known: TableMetadata | None = None
        self._digests: OrderedDict[str, bytes] = OrderedDict()

    @property
    def stores(self) -> Stores:
        return self._stores

    def store_for(self, location: str) -> Store:
        return self._stores.for_location(location)

    def refresh(self) -> TableState:
        for _ in range(_MAX_READS):
            head = find_head(self._store, self._folder)
            if head is None:
                raise TableNotFound(f"table {self.identifier} does not exist", table=self.identifier)
            location = join(self._folder, head.file_name)
            try:
                content = self._store.read(location)
            except FileNotFound:
                continue  # a clean-up or a drop came first; look again
            metadata = decode_metadata(content, location)
            if self._known is not None:
                check_same_table(self.identifier, self._known, metadata)
            self._remember(location, content, metadata)
            return TableState(self.identifier, metadata, location)
        raise Unavailable(
            f"table {self.identifier}: its newest version was gone {_MAX_READS} times before it could be read; try again",
            table=self.identifier,
        )

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        version = None if base.metadata_location is None else version_of(base.metadata_location)
        if version is None:
            raise InvalidInput(f"table {self.identifier}: the state to build on is no version of this table")
        self._refuse_moves(base.metadata, new)
        following = Version(version.number + 1, metadata_suffix(base.metadata))
        return self._publish(following, new, base=base)

    def create(self, new: TableMetadata) -> TableState:
        """Publishes the first version. Raises CommitConflict when someone else did."""
        self._refuse_moves(new, new)
        return self._publish(FIRST_VERSION, new, base=None)

    def _refuse_moves(self, base: TableMetadata, new: TableMetadata) -> None:
        if parse(base.location) != parse(new.location):
            raise UnsupportedFeature(
                f"table {self.identifier}: a filesystem catalog finds a table by its folder, so its location cannot change",
                table=self.identifier,
            )
        if new.properties.get(METADATA_PATH):
            raise UnsupportedFeature(
                f"table {self.identifier}: a filesystem catalog keeps metadata in the table's folder; leave out "
                f"{METADATA_PATH}, or use a SQL catalog",
                table=self.identifier,
            )

    def _publish(self, version: Version, new: TableMetadata, *, base: TableState | None) -> TableState:
        location = join(self._folder, version.file_name)
        content = encode_metadata(new, location)
        if published(self._store, self._folder, version.number, but=version.suffix) is not None:
            raise self._conflict(version)  # another writer's, under its other name
        try:
            self._store.create(location, content)
        except PreconditionFailed as taken:
            if not self._holds(location, content):
                raise self._conflict(version) from taken
        except WriteRefused:
            raise  # nothing was published: the outcome is known
        except StorageError as failed:
            self._settle(location, content, failed)
        self._check_in_line(_Attempt(version=version, location=location, content=content, new=new, base=base))
        self._remember(location, content, new)
        self._hint(version)
        self._delete_old_versions(version, new)
        return TableState(self.identifier, new, location)

    def _settle(self, location: str, content: bytes, failed: StorageError) -> None:
        """After an error that leaves open whether the file was written: the file that is there decides."""
        try:
            found: bytes | None = self._store.read(location)
        except FileNotFound:
            found = None
        except StorageError as error:
            failed.add_note(f"reading it back failed too: {error}")
            found = None
        if found is None:
            raise self._unknown(f"{location} may or may not appear ({failed})") from failed
        if found != content:
            raise CommitConflict(
                f"table {self.identifier}: another commit took {location}", table=self.identifier
            ) from failed

    def _check_in_line(self, attempt: _Attempt) -> None:
        """Raises CommitConflict when the created version is neither the head nor an ancestor of it, CommitUnknown when that
        cannot be determined."""
        try:
            is_in_line = self._is_in_line(attempt)
            if not is_in_line and self._holds(attempt.location, attempt.content):
                self._store.delete(attempt.location)
        except StorageError as failed:
            raise self._unknown(
                f"{attempt.location} was written, but whether it took effect could not be seen ({failed})"
            ) from failed
        if not is_in_line:
            raise self._conflict(attempt.version)

    def _is_in_line(self, attempt: _Attempt) -> bool:
        intact = attempt.base is not None and self._is_unchanged(attempt.base)
        # With the base in place the version after it was never free before: old versions are removed oldest first.
        head = find_head(self._store, self._folder)
        if not intact:
            head = newer(head, find_head_by_listing(self._store, self._folder))
        if head == attempt.version:
            return intact or attempt.base is None
        if head is not None and head.number > attempt.version.number:
            follows = self._is_followed(attempt)
            if follows is None and not intact and not self._holds(attempt.location, attempt.content):
                raise self._unknown(f"{attempt.location} was written, and is gone with the versions after it")
            return intact if follows is None else follows
        if head is not None and not intact:
            raise self._unknown(f"{attempt.location} was written, and is gone while it was looked for")
        # The base was there after the create, so the version was valid, even if it was cleaned up since.
        return intact and (head is None or head.number < attempt.version.number)

    def _is_unchanged(self, base: TableState) -> bool:
        """Whether the base version still exists unchanged: a table that was dropped and created again may have a version of
        the same number."""
        location = base.metadata_location
        assert location is not None
        try:
            content = self._store.read(location)
        except FileNotFound:
            return False
        known = self._digests.get(location)
        if known is not None:
            return hashlib.sha256(content).digest() == known
        found = decode_metadata(content, location)
        return not is_other_table(base.metadata, found) and found.last_updated_ms == base.metadata.last_updated_ms

    def _is_followed(self, attempt: _Attempt) -> bool | None:
        """Whether the next version was built on this one; None when it no longer exists."""
        following = published(self._store, self._folder, attempt.version.number + 1)
        if following is None:
            return None
        try:
            after = read_metadata(self._store, join(self._folder, following.file_name))
        except FileNotFound:
            return None
        if is_other_table(attempt.new, after):
            return False
        if added := attempt.added_snapshots():
            found = [after.find_snapshot(one.snapshot_id) for one in added]
            return any(a is not None and a.manifest_list == b.manifest_list for a, b in zip(found, added, strict=True))
        return any(
            entry.metadata_file == attempt.location and entry.timestamp_ms == attempt.new.last_updated_ms
            for entry in after.metadata_log
        )

    def _holds(self, location: str, content: bytes) -> bool:
        """Whether a file is what we wrote: a client or proxy that repeats a request finds its own file in the way."""
        try:
            return self._store.read(location) == content
        except FileNotFound:
            return False

    def _remember(self, location: str, content: bytes, metadata: TableMetadata) -> None:
        self._known = metadata
        self._digests[location] = hashlib.sha256(content).digest()
        self._digests.move_to_end(location)
        while len(self._digests) > _MAX_DIGESTS:
            self._digests.popitem(last=False)

    def _delete_old_versions(self, version: Version, new: TableMetadata) -> None:
        """Removes the versions before those that the metadata log names, if the table asks for it. All of them, oldest first:
        writers that each removed only their own could remove a version before an older one, and a reader that an old hint
        leads to the older one would find the next name free. A failure here does not fail the commit."""
        if new.properties.get(DELETE_AFTER_COMMIT, "false").lower() != "true":
            return
        logged = [version_of(entry.metadata_file) for entry in new.metadata_log]
        oldest = min((one.number for one in logged if one is not None), default=version.number)
        try:
            for old in listed_versions(self._store, self._folder):
                if old.number >= min(oldest, version.number):
                    return
                self._store.delete(join(self._folder, old.file_name))
        except StorageError:
            return

    def _hint(self, version: Version) -> None:
        try:
            write_hint(self._store, self._folder, version.number)
        except StorageError:
            return  # only a hint: readers look further

    def _conflict(self, version: Version) -> CommitConflict:
        return CommitConflict(
            f"table {self.identifier}: another commit published version {version.number} first", table=self.identifier
        )

    def _unknown(self, what: str) -> CommitUnknown:
        return CommitUnknown(f"table {self.identifier}: {what}", table=self.identifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A created version whose commit is not confirmed yet."""

    version: Version
    location: str
    content: bytes
    new: TableMetadata
    base: TableState | None

    def added_snapshots(self) -> list[Snapshot]:
        """The snapshots that the base does not have."""
        known = None if self.base is None else self.base.metadata.snapshots
        added = [one for one in self.new.snapshots.ids() if known is None or not known.has_id(one)]
        return [self.new.snapshot(one) for one in added]
