from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import FloebergError, InvalidInput, PathEscape
from floeberg.storage.location import check_segment, child, join, parse, parse_encoded, parse_from_user

segments = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda text: text not in (".", ".."))


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("/x/y", "file:///x/y"),
        ("file:/x/y", "file:///x/y"),
        ("file:///x/y", "file:///x/y"),
        ("file://localhost/x/y", "file:///x/y"),
        ("FILE:///x/y/", "file:///x/y"),
        ("//x//y///", "file:///x/y"),
        ("/x/./y/../z", "file:///x/z"),
        ("/", "file:///"),
        ("file:///", "file:///"),
        ("/a b/c%20d", "file:///a b/c%20d"),
        ("file:/a b/c%20d?e#f", "file:///a b/c%20d?e#f"),
        ("s3://b/k", "s3://b/k"),
        ("s3a://b/k", "s3://b/k"),
        ("s3n://b/k/", "s3://b/k"),
        ("S3A://b/k", "s3://b/k"),
        ("s3://b", "s3://b/"),
        ("s3://b/", "s3://b/"),
        ("s3://b/a//k", "s3://b/a//k"),
        ("s3://b//k", "s3://b//k"),
        ("s3://Bucket/K%2F", "s3://Bucket/K%2F"),
        ("gs://b/k", "gs://b/k"),
        ("gcs://b/k", "gs://b/k"),
        ("abfss://c@acc.dfs.core.windows.net/k", "abfs://c@acc/k"),
        ("abfs://c@acc.dfs.core.windows.net/k", "abfs://c@acc/k"),
        ("wasbs://c@acc.blob.core.windows.net/k", "abfs://c@acc/k"),
        ("hdfs://Node:8020/x//y", "hdfs://node:8020/x/y"),
        ("memory://w/a", "memory://w/a"),
    ],
)
def test_every_spelling_has_one_canonical_form(text, uri):
    assert parse(text).uri == uri
    assert parse(parse(text).uri).uri == uri


def test_spellings_of_one_file_are_equal_and_others_are_not():
    assert parse("s3a://b/k") == parse("s3://b/k/")
    assert hash(parse("file:/x")) == hash(parse("/x"))
    assert parse("/x") != parse("hdfs://h/x")
    assert parse("s3a://b/k").text == "s3a://b/k"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x/y",
        "./x",
        "data/persistent/t",
        "file:x",
        "file://host/x",
        "s3:/b/k",
        "s3:///k",
        "s3:b",
        "http://h/x",
        "ftp://h/x",
        "jar:file:/x",
        "c:\\x",
        "/a\0b",
        "s3://b/\0",
        "/a\ud800",
        "s3://KEY:PASSWORD@bucket/k",
        "s3://KEY@bucket/k",
        "hdfs://user:PASSWORD@node/x",
        "abfs://c:PASSWORD@acc/k",
        "abfss://c@a.dfs.core.windows.net/k?sv=1&sig=PASSWORD",
    ],
)
def test_what_is_no_absolute_location_is_refused_without_telling_secrets(text):
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    assert "PASSWORD" not in str(caught.value) + repr(caught.value) + repr(caught.value.context)


@pytest.mark.parametrize(
    "text",
    ["/..", "/a/../..", "/../etc/passwd", "file:///../x", "hdfs://h/../x", "s3://b/a/../c", "s3://b/./c", "gs://b/.."],
)
def test_dots_that_climb_out_or_stand_in_a_key_are_refused(text):
    with pytest.raises(PathEscape):
        parse(text)


def test_within_is_by_whole_segments_of_the_same_store():
    assert parse("/a/b").is_within(parse("/a"))
    assert parse("file:/a").is_within(parse("/a/"))
    assert parse("/a").is_within(parse("/"))
    assert not parse("/ab").is_within(parse("/a"))
    assert not parse("/a").is_within(parse("/a/b"))
    assert not parse("s3://b2/a").is_within(parse("s3://b/a"))
    assert not parse("/a/../ab").is_within(parse("/a"))
    assert parse("s3a://b/x").is_within(parse("s3://b"))
    assert parse("/a/b/c").relative_to(parse("/a")) == "b/c"
    assert parse("/a").relative_to(parse("/")) == "a"
    with pytest.raises(PathEscape):
        parse("/ab").relative_to(parse("/a"))


def test_join_keeps_the_spelling_of_its_base():
    assert join("file:/wh/", "db/t") == "file:/wh/db/t"
    assert join("s3a://b", "x") == "s3a://b/x"
    assert join("/", "x") == "/x"
    assert child("/wh", "a b%20") == "/wh/a b%20"


@pytest.mark.parametrize("relative", ["", "/x", "x/", "a//b", "..", "a/../b", ".", "a/.", "a\0b"])
def test_join_takes_nothing_that_leaves_its_base(relative):
    with pytest.raises(PathEscape):
        join("/wh", relative)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0", "a\nb", "\x7f", "é" * 128, "\ud800"])
def test_a_name_that_is_no_single_segment_is_refused(name):
    with pytest.raises(PathEscape):
        check_segment(name)


def test_a_relative_path_of_a_user_is_taken_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_from_user("wh/../w").path == f"{tmp_path}/w"
    assert parse_from_user("w:x").path == f"{tmp_path}/w:x"
    assert parse_from_user("s3://b/k").uri == "s3://b/k"
    with pytest.raises(InvalidInput):
        parse_from_user("http://h/x")


@given(st.lists(segments, min_size=1, max_size=5))
def test_an_encoded_uri_decodes_to_the_path_it_came_from(parts):
    path = "/" + "/".join(parts)
    assert parse_encoded("file:" + quote(path)).path == path
    assert parse(path).path == path


@given(
    st.sampled_from(["/", "file:/", "file:///", "s3://b/", "hdfs://h/", "abfs://c@a/"]), st.lists(segments, min_size=1)
)
def test_parsing_is_idempotent_and_keeps_every_name(base, parts):
    location = parse(base + "/".join(parts))
    assert location.path == "/" + "/".join(parts)
    assert parse(location.text) == location
    assert parse(location.uri) == location


@given(st.text(max_size=40))
def test_any_text_parses_or_raises_an_error_of_ours(text):
    for candidate in (text, "/" + text, "s3://" + text, "file:" + text, "abfs://" + text):
        try:
            location = parse(candidate)
        except FloebergError:
            continue
        assert ".." not in location.path.split("/")
        assert location.path.startswith("/")
