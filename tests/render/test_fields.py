"""Fields of rows: values at dotted paths, safe texts of cells, and what a document keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.schemas import read_rows
from scopes.conversation.log import log
from scopes.conversation.show import show
from scopes.render.document import make_document
from scopes.render.fields import cell_text, find_value, format_rows, reduce_document, walk_rows
from scopes.render.view import DEFAULT_OPTIONS
from tests.render.commit_results import COMMITS
from tests.support.history import history, say

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=3), items, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def logged(repository):
    """Return a function that reads the log of two messages, the newest first."""
    history(repository, "main: a")
    say(repository, "conv-001", "two\nlines\tand \x1b[31mred", author="dave")
    return lambda: log(repository, "conv-001")


def rows(result, *fields, **options):
    return [tuple(row[field] for field in fields) for row in walk_rows(result, DEFAULT_OPTIONS, fields, **options)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "m1"),
        ("author.name", "carol"),
        ("author", {"name": "carol"}),
        ("tags", ["v1"]),
        ("tags.0", None),
        ("id.x", None),
        ("author.kind", None),
        ("author.name.first", None),
        ("nothing", None),
        ("", None),
        (".", None),
        ("author.", None),
    ],
)
def test_a_dotted_path_leads_into_objects_only(field, value):
    assert find_value({"id": "m1", "author": {"name": "carol"}, "tags": ["v1"]}, field) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        ("a b", "a b"),
        (0, "0"),
        (False, "false"),
        (1.5, "1.5"),
        (["a", "b"], "a,b"),
        ([], ""),
        ([1, None, True], "1,,true"),
        ({"a": "é"}, '{"a": "é"}'),
        ([{"a": 1}], '[{"a": 1}]'),
        ([["a"]], '[["a"]]'),
    ],
)
def test_a_value_is_the_text_of_a_cell(value, text):
    assert cell_text(value) == text


@given(JSON)
def test_no_cell_has_a_line_break_a_tab_or_an_escape(value):
    text = cell_text(value)
    assert not set(text) & set("\n\r\t\x0b\x0c\x1b\x00\x9b\u2028\u2029")


@given(st.text(max_size=20))
def test_a_cell_of_several_lines_keeps_its_line_breaks_and_nothing_else_that_is_unsafe(value):
    text = cell_text(value, multiline=True)
    assert text.count("\n") >= value.count("\n")
    assert not set(text) & set("\x1b\x00\x9b")


def test_a_row_has_the_fields_that_are_asked_for_in_their_order(logged):
    assert rows(logged(), "author", "kind") == [("dave", "plain"), ("carol", "plain")]
    assert rows(logged(), "kind", "author", "kind") == [("plain", "dave", "plain"), ("plain", "carol", "plain")]


def test_a_field_that_json_lacks_is_the_column_of_the_text_form(logged):
    subjects = [subject for (subject,) in rows(logged(), "subject")]
    assert subjects[1] == "a"
    assert subjects[0].startswith("two")
    assert rows(logged(), "nothing", "no.path") == [(None, None)] * 2


def test_a_single_document_is_its_only_row(repository, logged):
    assert rows(show(repository, "conv-001"), "id") == [("conv-001",)]


@pytest.mark.parametrize(
    ("form", "end", "expected"),
    [
        ("{nothing}", "\n", ["\n", "\n"]),
        ("{author}: {kind}", "\n", ["dave: plain\n", "carol: plain\n"]),
        ("{{{kind}}}", "\0", ["{plain}\0", "{plain}\0"]),
    ],
)
def test_rows_are_written_by_a_template(logged, form, end, expected):
    assert list(format_rows(logged(), DEFAULT_OPTIONS, form, end)) == expected


def test_a_text_keeps_its_lines_only_if_nul_ends_the_rows(logged):
    (one, _), (several, _) = (list(format_rows(logged(), DEFAULT_OPTIONS, "{text}", end)) for end in ("\n", "\0"))
    assert one.count("\n") == 1
    assert several.startswith("two\nlines")
    assert "\x1b" not in one + several


def test_a_reduced_document_keeps_its_envelope(repository, logged):
    view = show(repository, "conv-001")
    document = make_document(view)
    found = reduce_document(document, view, DEFAULT_OPTIONS, ["id", "nothing"])
    assert found == {**{key: document[key] for key in ("scopes", "kind", "notes") if key in document}, "id": "conv-001"}


def test_the_commits_of_a_conversation_have_a_row_for_each_turn_of_a_link():
    found = rows(COMMITS, "commit", "role", "level", "turn")
    assert [(commit[:2], *rest) for commit, *rest in found] == [
        ("3f", "made", "certain", 5), ("3f", "wrote", "likely", 2), ("3f", "wrote", "likely", 3),
        ("9b", "made", "likely", None), ("5c", "made", "certain", 5),
    ]  # fmt: skip


def test_the_commits_of_a_conversation_are_reduced_to_rows_with_the_fields_alone():
    document = reduce_document(make_document(COMMITS), COMMITS, DEFAULT_OPTIONS, ["level", "turn", "state"])
    assert document["commits"][1] == {"level": "likely", "turn": 2, "state": "current"}
    assert document["commits"][3] == {"level": "likely", "state": "gone"}
    assert "conversation" not in document
    (whole,) = [each for each in rows(COMMITS, "evidence") if each[0][0]["kind"] == "content"][:1]
    assert whole[0][0]["share"] == 0.82


@pytest.mark.parametrize("field", ["commit", "role", "evidence", "is_gone", "replaced_by"])
def test_show_knows_the_fields_of_commits(field):
    assert field in read_rows(("show",)).fields
