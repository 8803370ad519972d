"""A title that the agent has changed since the last import is taken, unless the user gave the conversation another."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.new_rename_delete import rename_title
from scopes.history.metadata import read_metadata
from scopes.ids import ConversationId
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.databases import (
    LLM_RESPONSES,
    LLM_THREADS,
    make_database,
    message_rows,
    opencode_database,
    response_row,
    session_row,
    source_at,
    thread_rows,
)
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.formats.claude_code.logs import Log
from tests.importers.formats.cursor.databases import BUBBLES, chat_database, chat_rows, editor_database, editor_rows
from tests.importers.stores import branch_words, import_demo
from tests.support.store import make_store

CONVERSATION = ConversationId("conv-001")
MESSAGES = [{"role": "user", "content": "limit the log-ins"}, {"role": "assistant", "content": "done"}]


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def cursor_chat(path, title):
    return chat_database(path, *chat_rows(*MESSAGES, name=title))


def cursor_editor(path, title):
    (table, row), *bubbles = editor_rows(*BUBBLES)
    value = json.dumps({**json.loads(row["value"]), "name": title})
    return editor_database(path, (table, {**row, "value": value}), *bubbles)


def opencode(path, title):
    return opencode_database(path, session_row(title=title), *message_rows(1, "user", "hello"))


def llm_responses(path, title):
    named = ("conversations", {"id": "c1", "name": title, "model": "gpt-x"})
    return make_database(path, LLM_RESPONSES, [named, response_row(1, "why?", "so")])


def llm_threads(path, title):
    (table, row), *rest = thread_rows("t1", ("h1", None, "user", "why?"), ("h2", "h1", "assistant", "so"))
    return make_database(path, LLM_THREADS, [(table, {**row, "name": title}), *rest])


def claude_code(path, title):
    log = Log()
    log.user("hello")
    log.answer("msg_1", {"type": "text", "text": "hi"}, stop="end_turn")
    log.state("custom-title", customTitle=title)
    path.write_bytes(log.data())
    return path


@pytest.mark.every_case("each format has its own reader of titles")
@pytest.mark.parametrize("make", [cursor_chat, cursor_editor, opencode, llm_responses, llm_threads, claude_code])
def test_a_session_that_was_renamed_has_its_new_title(tmp_path, store, make):
    for title in ("Limits", "Log-ins", "Log-ins", "Limits"):
        path = tmp_path / "session.jsonl"
        path.unlink(missing_ok=True)
        import_sources(store, [source_at(make(path, title))], FORMATS)
        assert read_metadata(store, CONVERSATION).title == title


def test_a_title_of_the_user_stays(repository, tmp_path):
    def again(title, words="a b"):
        path = tmp_path / "a.jsonl"
        import_demo(repository, write_transcript(path, *session_records("s1", words), {"title": title}))
        return read_metadata(repository, CONVERSATION).title

    assert [again("Shop"), again("Login")] == ["Shop", "Login"]
    rename_title(repository, "conv-001", "Mine")
    assert again("Payment", "a b c") == "Mine"
    assert branch_words(repository) == "a b c"


def test_a_title_that_an_import_was_given_stays(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b"), {"title": "Shop"}), title="Mine")
    import_demo(repository, write_transcript(path, *session_records("s1", "a b c"), {"title": "Login"}))
    assert read_metadata(repository, CONVERSATION).title == "Mine"


def test_the_title_of_a_session_that_joined_later_does_not_rename_the_conversation(repository, tmp_path):
    first = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d"), {"title": "Shop"})
    import_demo(repository, first)
    for title in ("Other", "Another"):
        part = write_transcript(tmp_path / "b.jsonl", *session_records("s1", "x y", part="helper"), {"title": title})
        import_demo(repository, part)
        assert read_metadata(repository, CONVERSATION).title == "Shop"


def test_an_import_with_a_new_title_only_is_one_operation_and_no_message(repository, tmp_path):
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b"), {"title": "Shop"}))
    done = import_demo(repository, write_transcript(path, *session_records("s1", "a b"), {"title": "Login"}))
    assert [(row.title, row.new_messages) for row in done.conversations] == [("Login", 0)]
    again = import_demo(repository, write_transcript(path, *session_records("s1", "a b"), {"title": "Login"}))
    assert again.operation is None
