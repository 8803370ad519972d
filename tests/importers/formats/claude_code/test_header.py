"""The session that a file belongs to."""

from __future__ import annotations

import pytest

from tests.importers.formats.claude_code.logs import SESSION, Log, drafts, read, text

OTHER = "99999999-2222-4333-8444-555555555555"


def session(log):
    return read(log)[0]


def test_the_first_message_names_the_session():
    log = Log()
    log.state("permission-mode", permissionMode="auto")
    log.user("Hello")
    found = session(log)
    assert (found.format, found.native_id, found.sub_file, found.base) == ("claude-code", SESSION, None, None)
    assert (found.cwd, found.created, found.details) == (
        "/home/carol/shop",
        "2026-03-01T10:00:01.000Z",
        {"version": "2.1.40"},
    )


def test_the_first_of_two_session_ids_owns_the_file():
    log = Log()
    log.user("Hello")
    log.answer("m1", text("Hi"), sessionId=OTHER)
    log.user("Bye", sessionId=OTHER)
    assert session(log).native_id == SESSION
    assert [draft.extra for draft in drafts(log)] == [{}, {"session_id": OTHER}, {"session_id": OTHER}]


def test_a_file_of_a_sub_agent_is_a_part_of_its_session():
    log = Log()
    log.user("Search the shop", isSidechain=True, agentId="a0ad4f4")
    log.answer("m1", text("Searching"), isSidechain=True, agentId="a0ad4f4")
    assert (session(log).native_id, session(log).sub_file) == (SESSION, "a0ad4f4")
    assert [draft.side for draft in drafts(log)] == [None, None]


def test_a_copied_branch_names_the_session_it_was_copied_from():
    log = Log()
    log.user("Hello", forkedFrom={"sessionId": OTHER, "messageUuid": "u000"})
    assert session(log).base == OTHER


def test_the_header_of_a_session_does_not_change_while_it_grows():
    log = Log()
    log.progress()
    log.user("Hello")
    before = session(log)
    log.answer("m1", text("Hi"), cwd="/elsewhere", version="2.1.41", timestamp="2020-01-01T00:00:00Z")
    assert session(log) == before


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        ([("custom-title", "Tea"), ("ai-title", "Selling tea"), ("summary", "A shop")], "Tea"),
        ([("custom-title", "One"), ("custom-title", " Two \n"), ("ai-title", "Three")], "Two"),
        ([("custom-title", "  "), ("ai-title", 7), ("summary", "One"), ("summary", "A shop")], "A shop"),
        ([("summary", "A shop"), ("foreign", "of the messages of another session")], "A shop"),
        ([("foreign", "of the messages of another session")], None),
    ],
)
def test_the_last_title_of_the_best_kind_counts(titles, title):
    log = Log()
    for kind, words in titles:
        fields = {"custom-title": {"customTitle": words}, "ai-title": {"aiTitle": words}}.get(kind)
        leaf = "u999" if kind == "summary" else "elsewhere"
        log.state(kind if fields else "summary", **(fields or {"summary": words, "leafUuid": leaf}))
    log.user("Sell tea", uuid="u999")
    assert read(log)[-1].title == title
