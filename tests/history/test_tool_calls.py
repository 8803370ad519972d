"""Messages of tool results: the calls that they answer, the files that these touched, and what a row says of them."""

from __future__ import annotations

import pytest

from scopes.history import activity as tool_calls
from scopes.history.activity import (
    calls_by_id,
    find_call_message,
    is_failed,
    results_by_id,
    with_summary,
    with_touched_files,
)
from scopes.history.messages import NO_TEXT, header_of
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.store.objects import read_commit
from tests.support.history import history, say

AGENT = {"name": "claude", "kind": "agent"}
TOOL = {"name": "tool", "kind": "tool"}


def call(name="Read", call_id="c1", **given):
    return {"type": "tool_call", "call_id": call_id, "name": name, "input": given or {"file_path": "/p/a.py"}}


def result(call_id="c1", **fields):
    return {"type": "tool_result", "call_id": call_id, "output": "ok", **fields}


@pytest.fixture
def append(repository):
    """Append messages of these authors, kinds and parts; return the header of the last one."""
    history(repository)

    def append_all(*messages):
        for author, kind, *parts in messages:
            found = say(repository, "conv-001", "", author=author, kind=kind, parts=parts)
        return header_of(read_commit(repository, found.oid))

    return append_all


@pytest.mark.parametrize(
    "between",
    [
        [],
        [(TOOL, "tool-results", result("c0"))],
        [(AGENT, "notice", {"type": "text", "text": "Slow."})],
        [(TOOL, "plain", result("c0")), (AGENT, "error", {"type": "text", "text": "no"})],
    ],
)
def test_the_call_of_results_is_in_the_last_message_of_the_agent(repository, append, between):
    calls = append((AGENT, "answer", call()))
    results = append(*between, (TOOL, "tool-results", result()))
    assert find_call_message(repository, results).id == calls.id


def test_results_without_a_message_before_them_answer_none(repository, append):
    assert find_call_message(repository, append((TOOL, "tool-results", result()))).kind == "root"
    root = find_call_message(repository, append((TOOL, "tool-results", result())))
    assert find_call_message(repository, root) is None


@pytest.mark.parametrize(
    ("messages", "subject"),
    [
        ([(AGENT, "answer", call("Bash", command="make test"))], "→ Bash make test"),
        ([(AGENT, "answer", call("Bash", command="ls"), call("Bash", "c2", command="df"))], "→ Bash ls · 1 more"),
        ([(AGENT, "answer", call("Bash", command="ls")), (TOOL, "tool-results", result())], "result of → Bash ls"),
        ([(AGENT, "answer", call("Bash", command="ls"), call("Bash", "c2", command="df")), (TOOL, "tool-results", result("c2"))], "result of → Bash df"),
        ([(AGENT, "answer", call("Bash", command="ls")), (TOOL, "tool-results", result("other"))], NO_TEXT),
        ([(AGENT, "answer", {"type": "reasoning", "text": "Why?"})], NO_TEXT),
        ([(AGENT, "answer", {"type": "text", "text": "Done."}, call())], "Done."),
        ([(AGENT, "answer", call("Bash", command="a\nb\x1b[2J"))], None),
    ],
)  # fmt: skip
def test_a_message_without_text_is_summarized_by_its_calls(repository, append, messages, subject):
    found = with_summary(repository, append(*messages)).subject
    assert found == subject if subject is not None else "\n" not in found


READ = Part("tool_call", {"call_id": "c1", "name": "Read", "input": {"file_path": "/p/a.py"}})


def results_message(*parts, **fields):
    known = {"id": "a" * 26, "author": Author("tool", "tool"), "kind": "tool-results", **fields}
    return Message(parts=tuple(Part("tool_result", {"output": "ok", **part}) for part in parts), **known)


@pytest.mark.parametrize(
    ("part", "paths"),
    [
        ({"call_id": "c1"}, ["/p/a.py"]),
        ({"call_id": "c1", "is_error": True}, []),
        ({"call_id": "c1", "exit_code": 1}, []),
        ({"call_id": "c1", "exit_code": 0}, ["/p/a.py"]),
        ({"call_id": "c9"}, []),
        ({}, []),
    ],
)
def test_results_name_the_files_of_the_calls_that_succeeded(repository, append, part, paths):
    tip = append((AGENT, "answer", call()))
    found = with_touched_files(repository, tip.oid, results_message(part))
    assert [touch.path for touch in found.files] == paths


def test_the_calls_of_several_messages_are_found_and_each_file_is_named_once(repository, append):
    tip = append(
        (AGENT, "answer", call("Read", "c1", file_path="/p/a.py")),
        (
            AGENT,
            "answer",
            call("Read", "c2", file_path="/p/a.py"),
            call("Write", "c3", file_path="/p/b.py", content="x"),
        ),
    )
    found = with_touched_files(
        repository, tip.oid, results_message({"call_id": "c1"}, {"call_id": "c2"}, {"call_id": "c3"})
    )
    assert [(touch.path, touch.op) for touch in found.files if touch.op == "read"] == [("/p/a.py", "read")]
    assert [touch.path for touch in found.files] == ["/p/a.py", "/p/b.py"]


def test_a_message_that_names_its_files_is_unchanged(repository, append):
    tip = append((AGENT, "answer", call()))
    message = results_message({"call_id": "c1"}, files=(FileTouch("/other", "edit"),))
    assert with_touched_files(repository, tip.oid, message) is message


def test_a_call_in_the_message_itself_comes_before_one_in_the_history(repository, append):
    tip = append((AGENT, "answer", call()))
    own = Part("tool_call", {"call_id": "c1", "name": "Read", "input": {"file_path": "/own"}})
    message = results_message({"call_id": "c1"})
    both = Message(id=message.id, author=message.author, kind=message.kind, parts=(own, *message.parts))
    assert [touch.path for touch in with_touched_files(repository, tip.oid, both).files] == ["/own"]


def test_a_result_belongs_to_the_nearest_of_two_calls_with_one_id(repository, append):
    far = [call("Read", "c1", file_path="/far"), call("Read", "c2", file_path="/second")]
    tip = append((AGENT, "answer", *far), (AGENT, "answer", call("Read", "c1", file_path="/near")))
    found = with_touched_files(repository, tip.oid, results_message({"call_id": "c1"}, {"call_id": "c2"}))
    assert [touch.path for touch in found.files] == ["/near", "/second"]


def test_a_call_that_is_too_far_above_is_not_found(repository, append, monkeypatch):
    monkeypatch.setattr(tool_calls, "MAX_RESULTS", 3)
    calls = append((AGENT, "answer", call()))
    tip = append(*[(TOOL, "tool-results", result(f"x{number}")) for number in range(3)])
    assert with_touched_files(repository, calls.oid, results_message({"call_id": "c1"})).files
    assert with_touched_files(repository, tip.oid, results_message({"call_id": "c1"})).files == ()
    assert find_call_message(repository, tip).id == calls.id
    later = append((TOOL, "tool-results", result("y")))
    assert find_call_message(repository, later) is None


def test_calls_are_found_by_ids_that_are_texts():
    parts = [READ, Part("tool_call", {"call_id": 7}), Part("tool_call", {}), Part("tool_result", {"call_id": "c2"})]
    assert calls_by_id(parts) == {"c1": READ}


def test_a_result_whose_call_id_is_a_list_answers_no_call():
    assert results_by_id([Part("tool_result", {"call_id": ["c1"]}), Part("tool_result", {})]) == {}


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({}, False),
        ({"is_error": False, "exit_code": 0}, False),
        ({"exit_code": None}, False),
        ({"is_error": True, "exit_code": 0}, True),
        ({"is_error": "true"}, False),
        ({"exit_code": 1}, True),
        ({"exit_code": -9}, True),
        ({"exit_code": "1"}, True),
        ({"exit_code": []}, True),
    ],
)
def test_a_result_has_failed_if_it_is_an_error_or_has_another_exit_code_than_0(fields, failed):
    assert is_failed(Part("tool_result", fields)) is failed
