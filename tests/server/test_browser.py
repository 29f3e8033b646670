"""The page in a real browser: every view opened and clicked through, without an error in its console.

Needs playwright and a Chromium (FLOEBERG_CHROMIUM names it where it is not on the path); skips where they are missing.
FLOEBERG_SCREENSHOTS names a folder for pictures of every view.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.server.page.table_page import TABS
from floeberg.server.served_catalog import ServedCatalog
from servers.floeberg_server import server_in_thread

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=alert(1)>"
QUERIES = {"plan": "?where=id%20%3C%203", "row": "?where=id%20%3D%203", "query": "?run=1", "health": "?check=1"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a table's page; the table has history, branches, deletes and evolution."""
    warehouse = str(tmp_path_factory.mktemp("browser") / "lake")
    with fb.catalog("lake", type="sql", uri="sqlite:///:memory:", warehouse=warehouse) as catalog:
        catalog.create_namespace("db")
        table = catalog.create_table(
            "db.orders", "id bigint, customer string, country string", partition_by=["country"], format_version=3,
            properties={"write.delete.mode": "merge-on-read"},
        )  # fmt: skip
        countries = ["NO", "DE", "FR", "NO"]
        for number in range(4):
            ids = list(range(number * 10, number * 10 + 10))
            names = [f"customer {one}" for one in ids]
            table.append(pa.table({"id": ids, "customer": names, "country": [countries[one % 4] for one in ids]}))
        with table.manage_refs() as refs:
            refs.create_tag("v1")
            refs.create_branch("audit")
        table.delete(where="id = 7 OR id = 21")
        with table.update_schema() as update:
            update.rename_column("customer", "name")
            update.add_column("note", "string", doc=EVIL)
        table.update({"note": EVIL}, where="id = 3")
        with server_in_thread([ServedCatalog.of(catalog, warehouse=warehouse)]) as address:
            yield f"{address}/ui/lake/t/db/orders"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = os.environ.get("FLOEBERG_CHROMIUM") or shutil.which("chromium")
    if importlib.util.find_spec("playwright") is None or program is None:
        pytest.skip("needs playwright (pip install playwright) and Chromium (Debian's package chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(params=["light", "dark"])
def tab(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of the browser that must not complain."""
    opened = browser.new_page(color_scheme=request.param, viewport={"width": 1200, "height": 900})
    complaints: list[str] = []
    opened.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append("a dialog: " + dialog.message))
    opened.on("requestfailed", lambda failed: complaints.append("failed: " + failed.url))
    yield opened
    assert complaints == []
    opened.close()


def test_every_view_opens_by_its_link_and_shows_no_error(tab: Any, url: str, request: pytest.FixtureRequest) -> None:
    pictures = os.environ.get("FLOEBERG_SCREENSHOTS")
    tab.goto(f"{url}/overview")
    for key, name in TABS:
        tab.get_by_role("link", name=name, exact=True).click()
        assert tab.url == f"{url}/{key}"
        if key in QUERIES:
            tab.goto(f"{url}/{key}{QUERIES[key]}")
        assert tab.locator("nav a[aria-current=page]").inner_text() == name
        assert tab.locator("h1").inner_text() == "orders"
        wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{key} is wider than the window"
        if pictures:
            tab.screenshot(path=Path(pictures) / f"{request.node.callspec.id}-{key}.png")


def test_the_background_follows_light_and_dark(tab: Any, url: str, request: pytest.FixtureRequest) -> None:
    tab.goto(f"{url}/overview")
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if "light" in request.node.callspec.id else "rgb(18, 23, 29)")


def test_a_query_is_typed_and_sent_by_keyboard_alone(tab: Any, url: str) -> None:
    tab.goto(f"{url}/query")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "To the content"
    while tab.evaluate("document.activeElement.id") != "where":
        tab.keyboard.press("Tab")
    tab.keyboard.type("id = 3")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**where=id+%3D+3**")
    assert "where=id+%3D+3" in tab.url
    assert EVIL in tab.locator("main table").inner_text()
    assert tab.locator("main img").count() == 0
