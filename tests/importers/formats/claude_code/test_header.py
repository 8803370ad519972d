"""The session that a file belongs to."""

from __future__ import annotations

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


def test_the_session_began_with_the_first_record_that_has_a_time():
    log = Log()
    log.progress(cwd="/elsewhere")
    log.user("Hello")
    assert (session(log).created, session(log).cwd) == ("2026-03-01T10:00:00.000Z", "/home/carol/shop")


def test_the_first_of_two_session_ids_owns_the_file():
    log = Log()
    log.user("Hello")
    log.answer("m1", text("Hi"), sessionId=OTHER)
    log.user("Bye", sessionId=OTHER)
    assert (session(log).native_id, session(log).details["aliases"]) == (SESSION, [OTHER])
    assert [draft.extra for draft in drafts(log)] == [{}, {"session_id": OTHER}, {"session_id": OTHER}]


def test_a_hook_of_the_session_before_does_not_own_the_file():
    log = Log()
    log.progress(sessionId=OTHER)
    log.user("Hello")
    assert (session(log).native_id, session(log).details["aliases"]) == (SESSION, [OTHER])


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


def test_a_session_is_not_a_copy_of_itself():
    log = Log()
    log.user("Hello", forkedFrom={"sessionId": SESSION})
    assert session(log).base is None


def test_a_source_without_messages_is_a_session():
    log = Log()
    log.state("queue-operation", operation="enqueue", timestamp="2026-03-01T09:00:00Z")
    events = read(log)
    assert (events[0].native_id, events[0].created) == (SESSION, "2026-03-01T09:00:00Z")
    assert (events[-1].active, events[-1].open) == (None, None)


def test_the_header_of_a_session_does_not_change_while_it_grows():
    log = Log()
    log.progress()
    log.user("Hello")
    before = session(log)
    log.answer("m1", text("Hi"), cwd="/elsewhere", version="2.1.41", timestamp="2020-01-01T00:00:00Z")
    assert session(log) == before


def test_fields_of_other_types_are_ignored():
    log = Log()
    log.user("Hello", cwd=["/"], version=2, timestamp=7, agentId={}, forkedFrom="x", isSidechain="true")
    found = session(log)
    assert (found.cwd, found.created, found.sub_file, found.base, found.details) == (None, None, None, None, {})
