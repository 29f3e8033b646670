"""Views."""

from __future__ import annotations

from floeberg.catalogs.base import LoadedView
from floeberg.catalogs.new_table import require_namespace
from floeberg.errors import CommitConflict, ViewNotFound
from floeberg.server.rest.calls import NO_CONTENT, Answer, Call, identifier_of, in_request
from floeberg.server.rest.commits import MAX_TRIES, wait
from floeberg.server.rest.paging import page_of
from floeberg.server.rest.table_documents import view_answer
from floeberg.spec.changes.requirements import check_requirements, requirement_from_json
from floeberg.spec.changes.updates_json import update_from_json
from floeberg.spec.changes.view_builder import apply_view_updates, create_view_updates
from floeberg.spec.metadata.view_versions import view_version_from_json
from floeberg.spec.schemas.schema_json import schema_from_json
from floeberg.storage.location import parse_from_user


def list_views(call: Call) -> Answer:
    found = sorted(call.served.backend.list_views(call.namespace))
    page, following = page_of(found, call.query, key=lambda identifier: (identifier.name,))
    identifiers = [{"namespace": one.namespace, "name": one.name} for one in page]
    return Answer(document={"identifiers": identifiers, **following})


def create_view(call: Call) -> Answer:
    with in_request():
        fields = call.fields
        identifier = call.named(fields.text("name"))
        schema = schema_from_json(fields.required("schema"))
        version = view_version_from_json(fields.required("view-version"))
        properties = fields.optional_text_map("properties")
        location = fields.optional_text("location")
    backend = call.served.backend
    require_namespace(backend, identifier)
    updates = create_view_updates(
        view_uuid=str(backend.effects.ids.uuid()),
        location=parse_from_user(location or backend.default_location(identifier)).text,
        schema=schema,
        version=version,
        properties=properties,
    )
    metadata = apply_view_updates(None, updates, now_ms=backend.effects.clock.now_ms())
    call.served.check_view(metadata)
    return view_answer(backend.create_view(identifier, metadata))


def load_view(call: Call) -> Answer:
    return view_answer(call.served.backend.load_view(call.view))


def view_exists(call: Call) -> Answer:
    if not call.served.backend.view_exists(call.view):
        raise ViewNotFound(f"view {call.served.name}.{call.view} does not exist")
    return NO_CONTENT


def commit_view(call: Call) -> Answer:
    """Commits a change of a view, as for tables."""
    with in_request():
        requirements = [requirement_from_json(one) for one in call.fields.optional_list("requirements")]
        updates = [update_from_json(one) for one in call.fields.list("updates")]
    backend = call.served.backend
    tries = 0
    while True:
        tries += 1
        loaded: LoadedView = backend.load_view(call.view)
        check_requirements(requirements, loaded.metadata)
        new = apply_view_updates(loaded.metadata, updates, now_ms=backend.effects.clock.now_ms())
        if new is loaded.metadata:
            return view_answer(loaded)
        call.served.check_view(new)
        try:
            return view_answer(backend.swap_view(loaded, new))
        except CommitConflict:
            if tries == MAX_TRIES:
                raise
            wait(call.served, tries)


def drop_view(call: Call) -> Answer:
    call.served.backend.drop_view(call.view)
    return NO_CONTENT


def rename_view(call: Call) -> Answer:
    with in_request():
        source = identifier_of(call.fields.required("source"), "source")
        target = identifier_of(call.fields.required("destination"), "destination")
    call.served.backend.rename_view(source, target)
    return NO_CONTENT
