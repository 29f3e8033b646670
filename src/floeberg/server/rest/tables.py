"""Tables: list, load, register, rename, drop. Creating and committing are files of their own."""

from __future__ import annotations

from floeberg.catalogs.metadata_files import read_metadata
from floeberg.catalogs.purge import purge_table
from floeberg.errors import InvalidInput, TableNotFound, UnsupportedFeature
from floeberg.server.rest.calls import NO_CONTENT, Answer, Call, identifier_of, in_request
from floeberg.server.rest.paging import page_of
from floeberg.server.rest.table_documents import ALL, matches, table_answer, table_tag
from floeberg.storage.location import parse


def list_tables(call: Call) -> Answer:
    found = sorted(call.served.backend.list_tables(call.namespace))
    page, following = page_of(found, call.query, key=lambda identifier: (identifier.name,))
    identifiers = [{"namespace": one.namespace, "name": one.name} for one in page]
    return Answer(document={"identifiers": identifiers, **following})


def load_table(call: Call) -> Answer:
    """A table, or nothing when the client has this version."""
    state = call.served.backend.load_table(call.table).state
    snapshots = call.query.get("snapshots", ALL).lower()
    tag = table_tag(state, snapshots)
    if matches(tag, call.headers.get("if-none-match")):
        return Answer(status=304, headers={"etag": tag})
    return table_answer(state, snapshots=snapshots)


def table_exists(call: Call) -> Answer:
    if not call.served.backend.table_exists(call.table):
        raise TableNotFound(f"table {call.served.name}.{call.table} does not exist")
    return NO_CONTENT


def register_table(call: Call) -> Answer:
    """Takes over a table of which every recorded location lies in the roots."""
    with in_request():
        identifier = call.named(call.fields.text("name"))
        location = parse(call.fields.text("metadata-location")).text
        overwrites = call.fields.flag("overwrite")
    if overwrites:
        raise UnsupportedFeature(
            f"table {identifier}: a table that is there cannot be replaced by registering; drop it first, without purge"
        )
    call.served.check_location(location)
    backend = call.served.backend
    if backend.capabilities.register:
        with in_request():  # a file that is no table's metadata is named by the client
            metadata = read_metadata(backend.stores.for_location(location), location)
        call.served.check_whole_table(metadata)
    return table_answer(backend.register_table(identifier, location).state)


def drop_table(call: Call) -> Answer:
    """Drops a table; `purgeRequested` deletes its files too, if all its folders lie in the roots."""
    purge = call.query.get("purgeRequested", "false").lower()
    if purge not in ("true", "false"):
        raise InvalidInput(f"purgeRequested must be true or false, not {purge[:60]!r}")
    if purge == "false":
        call.served.backend.drop_table(call.table)
        return NO_CONTENT
    metadata = call.served.backend.load_table(call.table).state.metadata
    call.served.check_table(metadata)
    purge_table(call.served.backend, call.table, reading=lambda one: call.served.guarded(one, metadata))
    return NO_CONTENT


def rename_table(call: Call) -> Answer:
    with in_request():
        source = identifier_of(call.fields.required("source"), "source")
        target = identifier_of(call.fields.required("destination"), "destination")
    call.served.backend.rename_table(source, target)
    return NO_CONTENT
