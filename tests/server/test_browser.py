"""The page in a real browser: every view opened and clicked through, without an error in its console.

Needs playwright and a Chromium, as `make test-browser` brings them (FLOEBERG_CHROMIUM names the program); skips where they are
missing.
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
        broken = catalog.create_table("db.broken", "id bigint")
        broken.append(pa.table({"id": [1]}))
        Path(broken.inspect.files()["file_path"][0].as_py()).unlink()
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


def test_the_address_holds_all_that_is_shown(tab: Any, url: str, browser: Any) -> None:
    """What was clicked and typed can be sent to others, and the way back is the browser's."""
    tab.goto(f"{url}/snapshots")
    tab.get_by_role("link", name="files", exact=True).first.click()
    first = tab.url
    assert "/files?at=" in first
    tab.get_by_role("link", name="Plan", exact=True).click()
    tab.get_by_label("Condition").fill("country = 'NO' AND id > 25")
    tab.get_by_role("button", name="Plan").click()
    tab.wait_for_url("**where=**")
    other = browser.new_page()
    other.goto(tab.url)
    assert other.locator("main").inner_html() == tab.locator("main").inner_html()
    assert "files that go" in other.locator("main").inner_text()
    other.close()
    tab.go_back()
    tab.go_back()
    assert tab.url == first


def test_the_catalog_leads_to_every_table_by_clicks(tab: Any, url: str) -> None:
    tab.goto(url.partition("/ui/")[0])
    for name in ("lake", "db", "orders"):
        tab.get_by_role("link", name=name, exact=True).click()
    assert tab.url == f"{url}/overview"
    tab.get_by_role("link", name="audit", exact=True).click()
    assert tab.url == f"{url}/files?at=audit"


def test_every_link_and_field_is_reached_by_the_tab_key_and_shows_that_it_is(tab: Any, url: str) -> None:
    tab.goto(f"{url}/plan?where=id+%3C+3")
    wanted = tab.evaluate(
        "document.querySelectorAll('a[href], input:not([type=hidden]), button, [tabindex=\"0\"]').length"
    )
    outlines = []
    for _ in range(wanted):
        tab.keyboard.press("Tab")
        outlines.append(tab.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
    assert tab.evaluate("document.activeElement !== document.body")
    assert "none" not in outlines
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement === document.body")


CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = text => rgb(text).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = node => { for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor; if (!colour.endsWith(", 0)")) return colour; } return "rgb(255, 255, 255)"; };
  const found = [];
  for (const node of document.body.querySelectorAll("*")) {
    if (![...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(node.tagName + " " + node.textContent.slice(0, 30) + " " + ratio.toFixed(2));
  }
  return found;
}"""


def test_all_text_stands_out_from_what_is_behind_it(tab: Any, url: str) -> None:
    """The ratio that WCAG 2 asks of text at level AA."""
    for key, _ in TABS:
        tab.goto(f"{url}/{key}{QUERIES.get(key, '')}")
        assert tab.evaluate(CONTRAST) == [], key


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/ui/none", 404, "has no catalog"),
        ("/ui/lake/ns/none", 404, "does not exist"),
        ("/ui/lake/t/db/none/files", 404, "does not exist"),
        ("/ui/lake/t/db/orders/files?at=5", 404, "may have expired"),
        ("/ui/lake/t/db/orders/query?run=1&where=nope+%3D+1", 400, "no column"),
        ("/ui/lake/t/db/broken/query?run=1", 404, "is not there"),
        ("/ui/lake/anything/else/at/all", 404, "there is no page"),
    ],
)
def test_what_cannot_be_shown_is_a_page_with_the_reason_and_the_way_back(
    browser: Any, url: str, path: str, status: int, says: str
) -> None:
    opened = browser.new_page()
    answer = opened.goto(url.partition("/ui/")[0] + path)
    assert answer.status == status
    text = opened.locator("main").inner_text()
    assert says in text
    assert "Traceback" not in text
    assert 'File "' not in text
    opened.get_by_role("link", name="All catalogs").click()
    assert opened.url.endswith("/ui/")
    opened.close()


def test_the_health_of_a_table_with_a_missing_file_names_it(tab: Any, url: str) -> None:
    tab.goto(url.replace("/orders", "/broken") + "/health")
    tab.get_by_role("button", name="Check that every file").click()
    assert "missing-file" in tab.locator("main").inner_text()
