"""Session files of Gemini CLI before 0.40: one object, which is rewritten at every change."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.gemini import Gemini
from tests.importers.formats.gemini.test_gemini import CALL, DONE, OUTPUT, SESSION, TIME, TOKENS, lines, message
from tests.importers.reading import drafts, events_of, real_transcript, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.store import make_store

ONE = "conv-001"
MEMBERS = {"sessionId": SESSION, "projectHash": "1afb", "startTime": TIME.format(0), "lastUpdated": TIME.format(0)}
MESSAGES = [
    message("p", "user", 1, "Run the tests."),
    message("a", "gemini", 2, "I will run them.", tokens=TOKENS, model="gemini-2.5-pro", toolCalls=[DONE]),
    message("n", "info", 3, "Update available."),
    message("b", "gemini", 4, "Done.", tokens=TOKENS, model="gemini-2.5-pro"),
]


def document(*messages, indent=2, **members):
    return json.dumps({**MEMBERS, "messages": list(messages), **members}, indent=indent, ensure_ascii=False).encode()


def test_the_messages_are_those_that_the_newer_file_of_the_session_has():
    """Gemini CLI writes an old session anew when it is resumed: its messages keep their ids."""
    header = {**MEMBERS, "kind": "main"}
    older, newer = events_of(Gemini(), document(*MESSAGES)), events_of(Gemini(), lines(header, *MESSAGES))
    assert [draft.kind for draft in drafts(older)] == ["prompt", "answer", "notice", "answer"]
    assert [(draft.parts, draft.usage, draft.time) for draft in drafts(older)] == [
        (draft.parts, draft.usage, draft.time) for draft in drafts(newer)
    ]
    assert [older[0].native_id, older[0].created] == [newer[0].native_id, newer[0].created]


def test_the_result_of_a_call_is_in_its_answer_which_touched_the_files():
    given = {"file_path": "a.py", "content": "x"}
    write = {"id": "w", "name": "write_file", "args": given, "status": "success", "result": [{"functionResponse": {}}]}
    answer = drafts(events_of(Gemini(), document(MESSAGES[0], message("a", "gemini", 2, "", toolCalls=[DONE, write]))))[
        1
    ]
    assert [part.type for part in answer.parts] == ["tool_call", "tool_call", "tool_result", "tool_result"]
    assert answer.parts[2].fields == {"call_id": CALL, "output": OUTPUT, "is_error": True, "exit_code": 2}
    assert [(touch.path, touch.op) for touch in answer.files] == [("a.py", "edit")]


def test_a_call_that_waits_is_replaced_when_the_file_is_written_again(tmp_path):
    store, path = make_store(tmp_path / "store.git"), tmp_path / "session.json"
    waiting = {**DONE, "status": "executing", "result": []}
    path.write_bytes(document(MESSAGES[0], {**MESSAGES[1], "toolCalls": [waiting]}))
    import_paths(store, path)
    path.write_bytes(document(*MESSAGES))
    import_paths(store, path)
    assert list(list_branch_tips(store, ONE)) == ["main"]
    assert branch_words(store) == "Run the tests. I will run them. Update available. Done."
    assert import_paths(store, path).operation is None


def test_a_resumed_session_in_a_newer_file_continues_the_conversation(tmp_path):
    """Both files are there afterwards: `session-x.json` and `session-x.jsonl`."""
    store, old, new = make_store(tmp_path / "store.git"), tmp_path / "session.json", tmp_path / "session.jsonl"
    old.write_bytes(document(*MESSAGES))
    import_paths(store, old)
    new.write_bytes(lines({**MEMBERS, "kind": "main"}, *MESSAGES, message("q", "user", 5, "Thanks.")))
    import_paths(store, old, new)
    assert branch_words(store).endswith("Done. Thanks.")
    assert list(list_branch_tips(store, ONE)) == ["main"]
    assert import_paths(store, old, new).operation is None
    assert len(conversation_ids(store)) == 1


def test_the_older_file_of_a_resumed_session_takes_nothing_away_when_it_is_left_alone(tmp_path):
    store, old, new = make_store(tmp_path / "store.git"), tmp_path / "session.json", tmp_path / "session.jsonl"
    old.write_bytes(document(*MESSAGES))
    new.write_bytes(lines({**MEMBERS, "kind": "main"}, *MESSAGES, message("q", "user", 5, "Thanks.")))
    done = import_paths(store, old, new)
    assert [(found.path, found.reason) for found in done.skipped] == [
        (str(old), f"an older copy of {new}, in an earlier layout")
    ]
    import_paths(store, old)
    assert branch_words(store).endswith("Done. Thanks.")


def test_an_older_file_with_messages_of_its_own_is_a_branch(tmp_path):
    """An older version of the program went on with it."""
    store, old, new = make_store(tmp_path / "store.git"), tmp_path / "session.json", tmp_path / "session.jsonl"
    old.write_bytes(document(*MESSAGES, message("o", "user", 6, "Old.")))
    new.write_bytes(lines({**MEMBERS, "kind": "main"}, *MESSAGES, message("q", "user", 5, "Thanks.")))
    done = import_paths(store, old, new)
    assert [row.branches for row in done.conversations] == [2]
    assert import_paths(store, old, new).operation is None


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("gen_v0.24_session-2026-11-21T06-58-dd9c342c.json", ["prompt"]),
        ("real_2026-01-10_fa4593e0_51-3fab7adf0b-0.json", ["prompt", "answer", "prompt", "answer"]),
        ("real_2026-02-03_29eb990e_ec-38b74f08e3-2.json", ["notice"]),
    ],
)
def test_real_sessions_are_read_whole(name, kinds):
    with open(real_transcript("gemini-cli", name), "rb") as stream:
        events = events_of(Gemini(), stream.read())
    assert ([draft.kind for draft in drafts(events)], unparsed(events)) == (kinds, [])
