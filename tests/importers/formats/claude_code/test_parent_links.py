"""The parent of a message: links through other records, compactions, and links to missing records."""

from __future__ import annotations

import pytest

from tests.importers.formats.claude_code.logs import Log, call, drafts, ending, read, text, tree


def test_links_are_followed_through_records_that_are_not_messages():
    log = Log()
    log.progress(parent=None)
    log.user("Hello")
    log.progress()
    log.add("system", subtype="turn_duration")
    log.add("attachment", attachment={"type": "task_reminder"})
    log.answer("m1", text("Hi"))
    assert tree(log) == [("u001", None), ("m1", "u001")]


def test_a_compaction_stays_linear_and_starts_the_context():
    log = Log()
    log.user("Sell tea")
    last = log.answer("m1", text("Done"))
    log.boundary(last)
    log.summary()
    log.answer("m2", text("Where were we"))
    assert tree(log) == [("u000", None), ("m1", "u000"), ("u003", "m1"), ("m2", "u003")]
    found = drafts(log)[2]
    assert (found.kind, found.author.kind, found.context_root) == ("compaction", "injected", True)
    assert [draft.context_root for draft in drafts(log)] == [False, False, True, False]


@pytest.mark.parametrize("logical", ["not-in-this-file", None, 7, ...])
def test_a_compaction_with_a_logical_parent_in_another_file_follows_the_last_message(logical):
    log = Log()
    log.user("Sell tea")
    log.answer("m1", text("Done"))
    log.boundary(logical)
    log.summary()
    assert tree(log)[2] == ("u003", "m1")


def test_a_link_to_a_missing_record_is_bridged():
    """Such links are common after a resume; the history before them must not be lost."""
    log = Log()
    log.user("Sell tea")
    log.answer("m1", text("Done"))
    log.user("Now coffee", parent="phantom")
    log.answer("m2", text("Done"))
    assert tree(log) == [("u000", None), ("m1", "u000"), ("u002", "m1"), ("m2", "u002")]
    assert [draft.extra for draft in drafts(log)] == [{}, {}, {"missing_parent": "phantom"}, {}]
    assert ending(log).notes == ("1 link to a missing parent; each such message follows the previous one",)


def test_an_invalid_line_in_the_middle_does_not_split_the_history():
    """C-22."""
    log = Log()
    for number in range(6):
        log.user(f"Message {number}")
    lines = log.data().splitlines(keepends=True)
    lines[2] = lines[2][:50] + b"\n"
    found = [draft for draft in read(b"".join(lines))[1:-1] if hasattr(draft, "kind")]
    assert [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]


def test_a_message_without_a_parent_starts_a_new_line():
    log = Log()
    log.user("Sell tea")
    log.user("Begin again", parent=None)
    assert tree(log) == [("u000", None), ("u001", None)]


@pytest.mark.parametrize("parent", [7, [], {}, True, "", ...])
def test_a_link_of_the_wrong_type_is_bridged(parent):
    """C-28."""
    log = Log()
    log.user("Sell tea")
    log.user("And coffee", parent=parent)
    assert tree(log) == [("u000", None), ("u001", "u000")]


def test_the_last_message_of_the_main_line_is_active():
    log = Log()
    log.user("Sell tea")
    log.answer("m1", call("c1", "Task", prompt="Look"))
    log.user("Look", parent=None, isSidechain=True, agentId="a1")
    found = drafts(log)
    assert (ending(log).active, ending(log).open) == (found[1].key, found[2].key)


@pytest.mark.parametrize(
    "hook", [{"data": {"hookName": "SessionStart:clear"}}, {"attachment": {"hookName": "SessionStart:clear"}}]
)
def test_a_cleared_context_is_not_a_fork(hook):
    """Messages after a cleared context are on the same line, and the context begins there."""
    log = Log()
    log.user("Plan it")
    log.answer("m1", text("Planned"))
    log.add("progress" if "data" in hook else "attachment", parent=None, **hook)
    log.progress()
    log.user("Implement the plan")
    log.answer("m2", text("Done"))
    assert tree(log) == [("u000", None), ("m1", "u000"), ("u004", "m1"), ("m2", "u004")]
    assert [draft.context_root for draft in drafts(log)] == [False, False, True, False]
