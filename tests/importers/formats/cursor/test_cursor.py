"""What the hooks of Cursor were told becomes the messages of a conversation, in the documented shapes."""

from __future__ import annotations

import json

import pytest

from scopes.errors import CannotImport
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.cursor import Cursor
from scopes.importers.formats.registry import FORMATS
from tests.importers.formats.cursor.events import (
    CONVERSATION,
    EDIT,
    TURN,
    edit,
    journal,
    mcp,
    prompt,
    response,
    shell,
    stop,
    thought,
    turn,
)
from tests.importers.reading import bytes_source, drafts, events_of, unparsed
from tests.importers.streams import import_paths


def read(*inputs):
    return events_of(Cursor(), journal(*inputs))


def parts(draft):
    return [(part.type, part.fields.get("name") or part.text) for part in draft.parts]


def test_a_turn_is_a_prompt_and_an_answer_with_its_calls_in_order():
    first, second = drafts(read(*turn()))
    assert (first.kind, first.author.kind, first.parts[0].text) == ("prompt", "human", "prompt 1")
    assert (second.kind, second.author, second.parent) == ("answer", ("cursor", "agent"), first.key)
    assert parts(second) == [
        ("reasoning", "first the limit"), ("tool_call", "edit"), ("tool_result", ""), ("tool_call", "shell"),
        ("tool_result", ""), ("text", "answer 1"),
    ]  # fmt: skip
    assert (second.model, second.cwd, second.native_ids) == ("gpt-5", "/work/shop", ("generation-1",))
    assert (first.time, second.time) == ("2026-01-01T10:00:00Z", "2026-01-01T10:00:01Z")


def test_the_session_has_the_conversation_and_the_directory_of_cursor():
    session = read(*turn())[0]
    assert (session.format, session.native_id, session.cwd) == ("cursor", CONVERSATION, "/work/shop")
    assert session.created == "2026-01-01T10:00:00Z"
    assert session.is_stream


def test_an_edit_is_a_change_of_its_file():
    (answer,) = drafts(read(edit()))
    assert answer.parts[0].fields["input"] == {"file_path": "/work/shop/login.py", "edits": [EDIT]}
    assert [(touch.path, touch.op) for touch in answer.files] == [("/work/shop/login.py", "edit")]


def test_a_command_has_its_output_and_a_server_its_result():
    (answer,) = drafts(read(shell(), mcp()))
    command, output, call, result = answer.parts
    assert (command.fields["input"], output.fields["output"]) == ({"command": "pytest -q"}, "3 passed")
    assert (call.fields["name"], call.fields["input"]) == ("query", {"sql": "select 1"})
    assert result.fields["output"] == '{"rows": [1]}'
    assert command.fields["call_id"] == output.fields["call_id"] != call.fields["call_id"]


@pytest.mark.parametrize(
    "text", [*("[" * depth + "]" * depth for depth in (201, 300, 980, 3000)), "NaN", '{"a": 1e999}', "9" * 4400, "{bro"]
)
def test_arguments_that_cannot_be_stored_as_json_are_kept_as_their_text(repository, tmp_path, text):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal(prompt(), mcp(tool_input=text), response("done")))
    import_paths(repository, str(path))
    (conversation,) = conversation_ids(repository)
    call, result, answer = read_message(repository, list_branch_tips(repository, conversation)["main"]).parts
    assert call.fields["input_text"] == text
    assert (result.fields["output"], answer.text) == ('{"rows": [1]}', "done")


def test_several_texts_of_a_generation_are_one_answer():
    (answer,) = drafts(read(response("one"), thought("and"), response("two")))
    assert [part.text for part in answer.parts] == ["one", "and", "two"]
    assert answer.native_ids == (TURN,)


@pytest.mark.parametrize(("status", "ended"), [("completed", "success"), ("aborted", "error"), ("error", "error")])
def test_the_end_of_the_last_turn_is_that_of_the_run(status, ended):
    assert read(prompt(), stop(status))[-1].run_end.status == ended
    assert read(prompt(), stop(status), prompt("more"))[-1].run_end is None


@pytest.mark.parametrize("line", [b"{broken\n", b"[1]\n", journal(prompt(conversation="another")), b'{"a": 1}\n'])
def test_what_cannot_be_read_is_archived_and_stops_nothing(line):
    events = events_of(Cursor(), journal(prompt()) + line + journal(response()))
    assert len(drafts(events)) == 2
    assert len(unparsed(events)) == 1


def test_only_lines_of_our_hook_are_recognized():
    form = Cursor()
    assert form.sniff(journal(prompt()))
    assert not form.sniff(json.dumps(prompt()).encode())
    assert not form.sniff(b'{"scopes_hook": "cursor"}\n')
    assert not form.sniff(b'{"scopes_hook": "other", "input": {"conversation_id": "x"}}\n')
    with pytest.raises(CannotImport, match="no event names its conversation"):
        list(form.walk_events(bytes_source(b'{"scopes_hook": "cursor", "input": {}}\n')))
    assert next(known for known in FORMATS if known.sniff(journal(prompt()))).name == "cursor"


def test_a_journal_that_grows_adds_its_messages_to_one_conversation(repository, tmp_path):
    path, inputs = tmp_path / "journal.jsonl", []
    for number in (1, 2, 3):
        inputs += turn(number)
        path.write_bytes(journal(*inputs))
        import_paths(repository, str(path))
    (conversation,) = conversation_ids(repository)
    tips = list_branch_tips(repository, conversation)
    assert list(tips) == ["main"]
    heads = walk_headers_oldest_first(repository, list(tips.values()))
    texts = [read_message(repository, head.oid).parts[-1].text for head in heads]
    assert texts == [f"{kind} {number}" for number in (1, 2, 3) for kind in ("prompt", "answer")]
    import_paths(repository, str(path))
    assert list_branch_tips(repository, conversation) == tips
