"""A row of `log --json` can be appended again: the message is the same but for its ids, place and commit."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.clock import new_id
from scopes.conversation.append import append
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid
from scopes.history.messages import message_document
from scopes.importers.import_sample import import_sample
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.model.validation import check_message
from tests.support.history import say
from tests.support.store import make_store

NOW = "2026-01-01T00:00:00.000Z"
OWN = "id", "time", "amends", "retracts"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=4,
)
PARTS = st.one_of(
    TEXTS.map(lambda text: Part("text", {"text": text})),
    st.builds(lambda name, value: Part("tool_call", {"call_id": "c", "name": name, "input": value}), TEXTS, VALUES),
    st.builds(lambda value: Part("tool_result", {"call_id": "c", "output": value}), VALUES),
    st.builds(lambda text: Part("reasoning", {"text": text}), TEXTS),
)
EXTRA = st.dictionaries(
    st.sampled_from(["turn", "note", "branches", "subject", "scopes", "author_kind", "extra"]), VALUES, max_size=3
)


def row_of(repository, where="conv-001"):
    """Return the newest row of a log as a program reads it."""
    entry = next(iter(log(repository, where).items))
    return {"scopes": 1, **json.loads(json.dumps(message_document(entry.head, entry.message) | {"branches": ["main"]}))}


def content(message):
    """Return what a message says, without what belongs to its place."""
    return {field.name: getattr(message, field.name) for field in fields(message) if field.name not in OWN}


def reread(row):
    return check_message(row, message_id=new_id(), now=NOW)


def test_every_message_of_the_sample_survives_a_log_and_an_append(repository):
    import_sample(repository)
    rows = 0
    for entry in log(repository, "conv-001").items:
        row = {
            "scopes": 1,
            **json.loads(json.dumps(message_document(entry.head, entry.message) | {"branches": ["main"]})),
        }
        if row["kind"] in {"merge", "notice"}:
            continue
        assert content(reread(row)) == content(entry.message), row
        rows += 1
    assert rows > 5


@given(parts=st.lists(PARTS, min_size=1, max_size=3), extra=EXTRA, kind=st.sampled_from(["human", "agent", "tool"]))
def test_any_message_survives_a_log_and_an_append(tmp_path_factory, parts, extra, kind):
    repository = make_store(tmp_path_factory.mktemp("store") / "s.git")
    new(repository)
    given_message = Message(id=new_id(), author=Author("carol", kind), parts=tuple(parts), time=NOW, extra=extra)
    append(repository, "conv-001", given_message)
    (stored,) = (entry.message for entry in log(repository, "conv-001").items)
    assert content(reread(row_of(repository))) == content(stored)


@pytest.mark.parametrize(
    ("kind", "field", "payload"),
    [
        ("decision", "decision", {"topic": "db", "decision": "SQLite"}),
        ("priority", "priority", {"task": "login", "urgency": "high"}),
        ("analysis", "analysis", {"subject": "login", "aspect": "general", "finding": "slow"}),
    ],
)
@pytest.mark.parametrize("text", ["", "because"])
def test_a_typed_message_gets_no_text_that_nobody_wrote(repository, kind, field, payload, text):
    """A typed message without a text has a made-up `subject` in a row."""
    new(repository)
    say(repository, "conv-001", text, kind=kind, **{field: payload})
    row = row_of(repository)
    assert ("subject" in row) == (text == "")
    again = reread(row)
    assert (again.text, again.kind, "subject" in again.extra) == (text, kind, False)
    assert again.payload.items() >= payload.items()


def test_files_recipients_and_tool_fields_survive(repository):
    new(repository)
    say(
        repository, "conv-001", "done", to=["dave", "erin"], files=[{"path": "a.py", "op": "rename", "from": "b.py"}],
        work_item="W-1", task="T", tool="Bash", model="m-1", status="ok", stop_reason="end",
    )  # fmt: skip
    again = reread(row_of(repository))
    assert again.files == (FileTouch("a.py", "rename", None, "b.py"),)
    assert (again.to, again.work_item, again.task, again.tool) == (("dave", "erin"), "W-1", "T", "Bash")
    assert (again.model, again.status, again.stop_reason) == ("m-1", "ok", "end")


@pytest.mark.parametrize("kind", ["human", "agent", "tool", "system", "injected"])
def test_the_kind_of_the_author_survives(repository, kind):
    new(repository)
    append(
        repository,
        "conv-001",
        Message(id=new_id(), author=Author("x", kind), parts=(Part("text", {"text": "a"}),), time=NOW),
    )
    again = reread(row_of(repository))
    assert (again.author, again.extra) == (Author("x", kind), {})


def test_a_row_without_its_messages_is_refused():
    """`log --oneline` and the like have the commit alone."""
    with pytest.raises(Invalid, match="text or parts"):
        reread(
            {
                "scopes": 1,
                "message_kind": "plain",
                "kind": "plain",
                "author": "x",
                "author_kind": "human",
                "subject": "a",
            }
        )


@pytest.mark.parametrize("missing", ["scopes", "message_kind"])
def test_a_document_that_is_no_row_keeps_its_fields(missing):
    row = {"scopes": 1, "message_kind": "plain", "author": "x", "author_kind": "human", "text": "a", "subject": "b"}
    del row[missing]
    again = reread(row)
    assert again.author == Author("x", "agent")
    assert again.extra["subject"] == "b"


def test_text_and_parts_of_a_document_that_is_no_row_are_both_kept():
    again = reread({"author": "x", "text": "a", "parts": [{"type": "text", "text": "a"}]})
    assert [part.text for part in again.parts] == ["a", "a"]
