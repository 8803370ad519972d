"""A session that began with the history of another conversation has the user's own words, and names the other one."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.show import read_original, show
from scopes.history.handles import read_heading
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.importers import session_commits
from scopes.importers.session_commits import OwnWords
from scopes.memory.prompt_preface import build_preface
from scopes.model.message import HANDOVER
from tests.handover.sessions import Home
from tests.importers.formats.claude_code.logs import Log, text
from tests.support.history import say

SESSION = "22222222-2222-4333-8444-555555555555"


@pytest.fixture
def home(tmp_path, repository):
    return Home(tmp_path, repository)


def hand_over(home, prompt="and the tests?"):
    """Go on with conv-001 in a new session, import that, and return the log of it and the words of the prompt."""
    words = home.resume(new=True, prompt=prompt).command[-1]
    log = Log(SESSION)
    log.user(words, cwd=home.project)
    log.answer("m2", text("they pass"), cwd=home.project)
    import_log(home, log)
    return log, words


def import_log(home, log):
    path = home.file.replace("11111111", "22222222")
    with open(path, "wb") as file:
        file.write(log.data())
    home.import_file(path)


def heads(home, conversation="conv-002"):
    return list(walk_headers_oldest_first(home.repository, [list_branch_tips(home.repository, conversation)["main"]]))


def first_message(home):
    return read_message(home.repository, heads(home)[0].oid)


def test_the_prompt_of_the_new_session_is_what_the_user_asked(home):
    hand_over(home)
    assert first_message(home).text == "and the tests?"
    assert heads(home)[0].subject == "and the tests?"
    assert read_heading(home.repository, "conv-002").text == "and the tests?"


def test_the_new_session_names_the_conversation_that_it_continues(home):
    last = heads(home, "conv-001")[-1].id
    hand_over(home)
    assert show(home.repository, "conv-002").continues == ("conv-001", last)
    assert show(home.repository, "conv-001").continues is None


def test_a_conversation_of_another_store_is_named_by_its_last_message(home, monkeypatch):
    last = heads(home, "conv-001")[-1].id
    hand_over(home)
    handover = first_message(home).extra[HANDOVER]
    assert handover == {"blocks": ["history"], "message": last}
    elsewhere = "a" * 26
    handed = OwnWords((), {**handover, "message": elsewhere})
    monkeypatch.setattr(session_commits, "find_own_words", lambda parts: handed)
    log = Log(SESSION.replace("2222", "3333"))
    log.user("x", cwd=home.project)
    import_log(home, log)
    assert show(home.repository, "conv-003").continues == (None, elsewhere)


def test_what_the_agent_was_really_given_is_kept_with_the_session(home):
    _, words = hand_over(home)
    (record,) = read_original(home.repository, heads(home)[0].id).records
    assert json.loads(record)["message"]["content"] == words


def test_a_handover_without_a_prompt_has_the_answer_as_its_title(home):
    hand_over(home, prompt="")
    assert first_message(home).text == ""
    assert read_heading(home.repository, "conv-002").text == "they pass"


def test_the_last_words_for_a_third_agent_have_no_history_in_them(home):
    hand_over(home)
    say(home.repository, "conv-001", "more", author="carol")
    preface = build_preface(home.repository, "conv-001", "planner").text
    assert "- user: and the tests?\n" in preface
    assert preface.count("----- recorded exchanges") == 2  # its own fence


def test_a_session_that_an_earlier_version_imported_keeps_its_messages(home, monkeypatch):
    """The id of a prompt is that of all its text, so a session that has grown goes on where it was."""
    with monkeypatch.context() as earlier:
        earlier.setattr(session_commits, "find_own_words", lambda parts: OwnWords(tuple(parts), None))
        log, words = hand_over(home)
    before = [head.oid for head in heads(home)]
    log.user("again", cwd=home.project)
    log.answer("m3", text("they pass again"), cwd=home.project)
    import_log(home, log)
    assert first_message(home).text == words
    assert [head.oid for head in heads(home)][:1] == before[:1]
    assert len(heads(home)) == 4
    assert list(list_branch_tips(home.repository, "conv-002")) == ["main"]
