"""One message a line, which `append --jsonl` takes back."""

from __future__ import annotations

import json

from scopes.clock import new_id, now
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.import_sample import import_sample
from scopes.conversation.log import log
from scopes.conversation.new import new
from scopes.model.validation import RESERVED, check_message
from tests.exporters.building import document, exported
from tests.support.history import history, say


def lines(repository, where="conv-001", **options):
    """Return an export as values."""
    return [json.loads(line) for line in exported(repository, where, "jsonl", **options).splitlines()]


def test_the_lines_are_the_messages_of_the_document(repository):
    import_sample(repository)
    assert lines(repository) == document(repository)["messages"]
    assert lines(repository, all_branches=True) == document(repository, all_branches=True)["messages"]


def test_a_conversation_without_messages_has_no_lines(repository):
    new(repository)
    assert exported(repository, format_name="jsonl") == ""


def test_only_a_newline_ends_a_line(repository):
    new(repository)
    text = "one\ntwo\u2028three\x85four\r"
    say(repository, "conv-001", text)
    whole = exported(repository, format_name="jsonl")
    assert (whole.count("\n"), json.loads(whole)["parts"][0]["text"]) == (1, text)


def test_the_lines_are_those_of_the_log(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    logged = [entry.head.oid for entry in log(repository, "conv-001/fix", oldest_first=True).items]
    assert [line["oid"] for line in lines(repository, "conv-001/fix")] == logged == [drawn.oids["a"], drawn.oids["c"]]


def test_lines_can_be_appended_again_as_new_messages(repository):
    """Everything comes back but what names a message and its place."""
    import_sample(repository)
    new(repository)
    branch(repository, "conv-002", name="copy")
    for line in lines(repository):
        append(repository, "conv-002", check_message(line, message_id=new_id(), now=now()), branch="copy")
    own = {*RESERVED, "text"}
    given = [{k: v for k, v in line.items() if k not in own} for line in lines(repository)]
    assert [{k: v for k, v in line.items() if k not in own} for line in lines(repository, "conv-002/copy")] == given


def test_a_message_cannot_claim_a_place(repository):
    new(repository)
    said = say(repository, "conv-001", "x", oid="0" * 40, parents=["y"], parent_oids=["z"], also_at=[{}])
    (line,) = lines(repository)
    assert (line["oid"], line["parents"], "also_at" in line) == (said.oid, [], False)
