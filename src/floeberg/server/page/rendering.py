"""Templates. Every value is escaped unless a template says otherwise, which none does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.storage.secret import redact

ROOT: Final = "/ui"
_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB", "PB")
_LONGEST: Final = 200
_LARGEST: Final = 2**64
_SEPARATOR: Final = "\x1f"


def page(template: str, values: Mapping[str, object], *, status: int = 200) -> Response:
    """A page from a template."""
    content = _ENVIRONMENT.get_template(template).render(values)
    return Response(content, status_code=status, media_type="text/html")


def load_templates() -> None:
    """Compiles every template, so that the first visitor does not wait for it."""
    for name in _ENVIRONMENT.list_templates(extensions=["html"]):
        _ENVIRONMENT.get_template(name)


def catalog_link(catalog: str) -> str:
    return f"{ROOT}/{_part(catalog)}"


def namespace_link(catalog: str, namespace: Namespace) -> str:
    return f"{catalog_link(catalog)}/ns/{_part(_SEPARATOR.join(namespace))}"


def table_link(catalog: str, identifier: Identifier, tab: str = "overview", **query: object) -> str:
    """The address of a table's page; values that are None or empty are left out."""
    at = f"{catalog_link(catalog)}/t/{_part(_SEPARATOR.join(identifier.namespace))}/{_part(identifier.name)}/{tab}"
    return at + with_query(query)


def view_link(catalog: str, identifier: Identifier) -> str:
    return f"{catalog_link(catalog)}/v/{_part(_SEPARATOR.join(identifier.namespace))}/{_part(identifier.name)}"


def with_query(query: Mapping[str, object]) -> str:
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""


def _part(text: str) -> str:
    return quote(text, safe="")


def shown_bytes(count: int | None) -> str:
    """A size for people: `3.4 MB`."""
    if count is None:
        return "–"
    if abs(count) > _LARGEST:
        return shown_value(count)
    size, unit = float(count), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{count} bytes" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def shown_number(count: int | str | None) -> str:
    """A number with its thousands apart; text that is no number as it is."""
    if count is None:
        return "–"
    text = str(count)
    digits = text.removeprefix("-")
    is_number = digits.isdecimal() and len(digits) <= _LONGEST
    return f"{int(text):,}".replace(",", "\u202f") if is_number else shown_value(text)


def shown_time(timestamp_ms: int | None) -> str:
    """A moment in UTC; one that no calendar of Python's holds as its milliseconds."""
    if timestamp_ms is None:
        return "–"
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"


def shown_value(value: object) -> str:
    """A value of a row, shortened where it is long."""
    if value is None:
        return "null"
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("floeberg.server.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=shown_bytes,
        number=shown_number,
        time=shown_time,
        value=shown_value,
        redacted=lambda text: redact(str(text)),
    )
    environment.globals.update(
        root=ROOT,
        catalog_link=catalog_link,
        namespace_link=namespace_link,
        table_link=table_link,
        view_link=view_link,
    )
    return environment


_ENVIRONMENT: Final = _environment()
