"""The page: every view of a table with history, branches, deletes and evolution, and what it says of bad input."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pytest

from floeberg.server.page.routes import VIEWS
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from servers.rest_lake import AppClient, RestLake, open_lake

EVIL = "<script>alert('x')</script>\"&"
T = "/ui/lake/t/db/t"


class Page(HTMLParser):
    """The links, text and tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.labels: set[str] = set()
        self.fields: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        assert not [name for name in given if name.startswith("on") or name == "style"], (tag, given)
        if tag == "a":
            self.links.append(given["href"] or "")
        if tag == "label":
            self.labels.add(given["for"] or "")
        if tag in ("input", "select") and given.get("type") != "hidden":
            self.fields.add(given["id"] or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestLake]:
    with open_lake("sql", tmp_path_factory.mktemp("page")) as opened:
        table = opened.catalog.create_table(
            "db.t", "id bigint, s string, p string", partition_by=["p"], format_version=3,
            properties={"write.delete.mode": "merge-on-read", "password": "sentinel-secret"},
        )  # fmt: skip
        table.append(pa.table({"id": [1, 2, 3], "s": ["a", EVIL, "c"], "p": ["x", "x", "y"]}))
        with table.manage_refs() as refs:
            refs.create_tag("v1")
            refs.create_branch("work")
        table.append(pa.table({"id": [4], "s": ["d"], "p": ["z"]}))
        table.delete(where="id = 1")
        with table.update_schema() as update:
            update.rename_column("s", "text")
            update.add_column(EVIL, "int", doc=EVIL)
        table.update({"text": "changed"}, where="id = 3")
        table.append(pa.table({"id": [9], "text": ["w"], "p": ["x"]}), branch="work")
        opened.catalog.create_view("db.v", f"SELECT '{EVIL}'", "id bigint")
        opened.catalog.create_table("db.empty", "id bigint")
        opened.catalog.create_namespace(EVIL)
        opened.catalog.create_table((EVIL, EVIL), "id bigint")
        yield opened


def shown(client: AppClient, path: str, status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert EVIL not in answer.text
    assert "sentinel" not in answer.text
    page = Page(answer.text)
    assert "script" not in page.tags
    assert page.fields <= page.labels
    return page


def test_every_link_from_the_first_page_on_leads_somewhere(lake: RestLake) -> None:
    seen: set[str] = set()
    left = ["/ui/"]
    while left:
        path = left.pop()
        if path in seen or path.startswith("#"):
            continue
        seen.add(path)
        assert path.startswith("/ui/"), path
        left += shown(lake.client, path).links
    views = {urlsplit(path).path.rpartition("/")[2] for path in seen if path.startswith(T)}
    assert views == set(VIEWS)


def test_the_history_shows_branches_tags_and_schemas(lake: RestLake) -> None:
    snapshots = shown(lake.client, f"{T}/snapshots").text
    assert "v1 (tag)" in snapshots
    assert "work" in snapshots
    assert "append" in snapshots
    assert "unknown" not in snapshots
    schema = shown(lake.client, f"{T}/schema").text
    assert "renamed s to text" in schema
    assert EVIL in schema


def test_files_and_deletes_show_partitions_sizes_and_what_is_covered(lake: RestLake) -> None:
    files = shown(lake.client, f"{T}/files").text
    assert "p=x" in files
    assert "Files" in files
    deletes = shown(lake.client, f"{T}/deletes").text
    assert "deletion vector" in deletes
    assert ".parquet" in deletes
    assert "p=y" in shown(lake.client, f"{T}/files?at=v1&order=path").text


def test_a_filter_says_which_files_go_and_by_what_rule(lake: RestLake) -> None:
    where = quote("p = 'x' AND id < 100")
    plan = shown(lake.client, f"{T}/plan?where={where}").text
    assert "Files that go" in plan
    assert "p = 'x'" in plan.split("Files that go")[1]
    assert "id < 100" not in plan.split("Files that go")[1]


def test_a_row_is_followed_through_snapshots(lake: RestLake) -> None:
    lineage = shown(lake.client, f"{T}/row?where={quote('id = 3')}").text
    assert "changed" in lineage
    assert "_row_id" in lineage
    assert "deleted" in shown(lake.client, f"{T}/row?where={quote('id = 1')}").text


def test_two_snapshots_are_compared_by_files_rows_and_schema(lake: RestLake) -> None:
    found = shown(lake.client, f"{T}/diff?from=v1&to=current&rows=1").text
    assert "changed" in found
    assert "renamed s to text" in found


def test_a_query_is_answered_up_to_its_limit_and_its_values_are_text(lake: RestLake) -> None:
    found = shown(lake.client, f"{T}/query?run=1&select=id,text&limit=2").text
    assert "There are more" in found
    assert EVIL in shown(lake.client, f"{T}/query?run=1&where={quote('id = 2')}").text
    assert "No rows" in shown(lake.client, f"{T}/query?run=1&where={quote('id = 77')}").text


def test_health_says_what_check_finds(lake: RestLake) -> None:
    assert "No error" in shown(lake.client, f"{T}/health?check=1").text
    lake.catalog.create_table("db.broken", "id bigint").append(pa.table({"id": [1]}))
    file = lake.catalog.load_table("db.broken").inspect.files()["file_path"][0].as_py()
    Path(file).unlink()
    assert "missing-file" in shown(lake.client, "/ui/lake/t/db/broken/health?check=1").text
    lake.catalog.drop_table("db.broken")


@pytest.mark.parametrize("tab", VIEWS)
def test_a_table_without_snapshots_has_every_view(lake: RestLake, tab: str) -> None:
    shown(lake.client, f"/ui/lake/t/db/empty/{tab}?where={quote('id = 1')}")


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/ui/none", 404, "has no catalog"),
        ("/ui/lake/ns/none", 404, "does not exist"),
        ("/ui/lake/t/db/none/files", 404, "does not exist"),
        (f"{T}/none", 404, "no page"),
        (f"{T}/files?at=none", 400, "no snapshot id, branch or tag"),
        (f"{T}/files?at=5", 404, "may have expired"),
        (f"{T}/files?page=7", 400, "must be a number"),
        (f"{T}/plan?where=nope%20%3D%201", 400, "no column"),
        (f"{T}/plan?where=(((", 400, ""),
        (f"{T}/query?run=1&limit=100000", 400, "from 1 to 1000"),
        (f"{T}/query?run=1&select=nope", 400, "no column"),
        (f"{T}/row?where=(((", 400, ""),
    ],
)
def test_bad_input_is_a_page_with_the_way_out(lake: RestLake, path: str, status: int, says: str) -> None:
    page = shown(lake.client, path, status)
    assert says in page.text
    assert "Traceback" not in page.text
    assert "/ui/" in page.links


def test_the_page_can_be_left_out_and_needs_the_token_too(tmp_path: Path) -> None:
    token = "sentinel-token-0123456789"
    with open_lake("sql", tmp_path, settings=ServerSettings(page=False)) as lake:
        assert lake.client.get("/ui/").status_code == 404
    with open_lake("sql", tmp_path, settings=ServerSettings(tokens=Tokens([token]))) as lake:
        refused = lake.client.get("/ui/")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic")
        basic = base64.b64encode(f"anyone:{token}".encode()).decode()
        assert lake.client.get("/ui/", headers={"Authorization": f"Basic {basic}"}).status_code == 200
