"""Namespaces."""

from __future__ import annotations

from floeberg.catalogs.identifiers import to_namespace
from floeberg.errors import InvalidInput, NamespaceNotFound
from floeberg.server.rest.calls import NO_CONTENT, SEPARATOR, Answer, Call, in_request, namespace
from floeberg.server.rest.paging import page_of


def list_namespaces(call: Call) -> Answer:
    parent_text = call.query.get("parent", "")
    parent = to_namespace(parent_text.split(SEPARATOR)) if parent_text else ()
    found = sorted(call.served.backend.list_namespaces(parent))
    page, following = page_of(found, call.query, key=lambda levels: levels)
    return Answer(document={"namespaces": page, **following})


def create_namespace(call: Call) -> Answer:
    with in_request():
        created = namespace(call.fields.texts("namespace"))
        properties = call.fields.optional_text_map("properties")
    call.served.check_namespace(properties)
    call.served.backend.create_namespace(created, properties)
    return Answer(document={"namespace": created, "properties": properties})


def load_namespace(call: Call) -> Answer:
    properties = call.served.backend.namespace_properties(call.namespace)
    return Answer(document={"namespace": call.namespace, "properties": properties})


def namespace_exists(call: Call) -> Answer:
    if not call.served.backend.namespace_exists(call.namespace):
        raise NamespaceNotFound(f"namespace {'.'.join(call.namespace)} does not exist")
    return NO_CONTENT


def drop_namespace(call: Call) -> Answer:
    call.served.backend.drop_namespace(call.namespace)
    return NO_CONTENT


def update_properties(call: Call) -> Answer:
    with in_request():
        updates = call.fields.optional_text_map("updates")
        removals = call.fields.texts("removals") if call.fields.has("removals") else ()
    if both := sorted({*updates} & {*removals}):
        raise UnprocessableEntity(f"properties are updated and removed at once: {', '.join(both)}")
    call.served.check_namespace(updates)
    backend = call.served.backend
    before = backend.namespace_properties(call.namespace)
    missing = [name for name in removals if name not in before]
    backend.update_namespace_properties(call.namespace, set=updates, remove=removals)
    removed = [name for name in removals if name in before]
    return Answer(document={"updated": sorted(updates), "removed": removed, "missing": missing})


class UnprocessableEntity(InvalidInput):
    """A property is both updated and removed, which has a status of its own."""
