"""One message per answer, one for the results after it, and forks only where the user went back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.importers.formats import claude_code
from tests.importers.formats.claude_code.logs import Log, call, drafts, forks, name_of, states, text, thinking, tree
from tests.support.examples import examples


def kinds(log):
    return [draft.kind for draft in drafts(log)]


def is_line(log):
    """Return True if every message follows the one before it in the file."""
    found = drafts(log)
    return [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]


def test_the_lines_of_an_answer_are_one_message():
    log = Log()
    log.user("Sell tea")
    lines = [log.answer("m1", block) for block in (thinking("Hm"), text("I look"), call("c1"))]
    draft = drafts(log)[1]
    assert [part.type for part in draft.parts] == ["reasoning", "text", "tool_call"]
    assert draft.native_ids == ("m1", *lines)
    assert len(draft.spans) == 1


def test_states_between_the_lines_do_not_end_an_answer():
    log = Log()
    log.answer("m1", thinking("Hm"))
    log.progress()
    log.state("file-history-snapshot", snapshot={})
    log.answer("m1", text("I look"))
    log.add("system", subtype="turn_duration")
    log.user("Thanks")
    assert kinds(log) == ["answer", "prompt"]
    assert is_line(log)
    assert len(drafts(log)[0].spans) == 2


def test_results_of_parallel_calls_are_one_message_in_one_line():
    """The parent of each result is the line of its call."""
    log = Log()
    log.user("Sell tea")
    first = log.answer("m1", call("c1"))
    second = log.answer("m1", call("c2"))
    log.result("c2", parent=second)
    log.result("c1", parent=first)
    log.answer("m2", text("Done"))
    assert tree(log) == [("u000", None), ("m1", "u000"), ("u003", "m1"), ("m2", "u003")]
    assert is_line(log)


def test_an_answer_with_results_between_its_lines_stays_linear():
    log = Log()
    log.user("Sell tea")
    for number in range(3):
        log.answer("m1", call(f"c{number}"))
        log.progress()
        log.result(f"c{number}", parent=log.records[-2]["uuid"])
    log.answer("m2", text("Done"))
    assert kinds(log) == ["prompt", *["answer", "tool-results"] * 3, "answer"]
    assert [name_of(draft) for draft in drafts(log) if draft.kind == "answer"] == ["m1", "m1", "m1", "m2"]
    assert is_line(log)


def test_a_late_result_follows_the_messages_written_meanwhile():
    log = Log()
    first = log.answer("m1", call("c1"))
    second = log.answer("m1", call("c2"), parent=first)
    log.result("c2", parent=second)
    log.answer("m1", call("c3"))
    log.result("c1", parent=first)
    log.result("c3", parent="u003")
    log.answer("m2", text("Done"))
    assert kinds(log) == ["answer", "tool-results", "answer", "tool-results", "answer"]
    assert is_line(log)
    found = drafts(log)
    assert [draft.reply_to for draft in found] == [None, None, None, found[0].key, None]


def test_two_prompts_below_one_message_are_a_fork():
    log = Log()
    log.user("Sell tea")
    answer = log.answer("m1", text("Done"))
    log.user("Now coffee")
    log.answer("m2", text("Done"))
    log.user("Now cocoa", parent=answer)
    log.answer("m3", text("Done"))
    assert tree(log)[2:] == [("u002", "m1"), ("m2", "u002"), ("u004", "m1"), ("m3", "u004")]
    assert forks(drafts(log)) == 1


def test_two_answers_to_one_prompt_are_a_fork():
    """A synthetic answer is written when the user leaves the session."""
    log = Log()
    prompt = log.user("Sell tea")
    log.answer("m1", text("\n\n"))
    log.user("<command-name>/exit</command-name>")
    log.answer("x1", text("No response requested."), model="<synthetic>", parent=prompt)
    log.user("Sell coffee")
    assert forks(drafts(log)) == 1
    assert tree(log)[3:] == [("u003", "u000"), ("u004", "u003")]


def test_a_message_that_grows_too_large_is_split(monkeypatch):
    """P15: an open message is held in memory."""
    assert claude_code.MAX_BYTES == 32 << 20
    monkeypatch.setattr(claude_code, "MAX_BYTES", 2500)
    log = Log()
    for _ in range(4):
        log.answer("m1", text("x" * 500), tokens=9)
    for _ in range(4):
        log.result("c1", "x" * 500)
    assert kinds(log) == ["answer"] * 2 + ["tool-results"] * 2
    assert is_line(log)
    assert [draft.usage["output"] for draft in drafts(log) if draft.usage] == [9, 0]


def test_a_repeated_record_counts_once():
    """A resumed session writes the last record again, on the same line, with its fields in another order."""
    log = Log()
    log.user("Hello")
    log.answer("m1", text("Hi"), uuid="same")
    log.answer("m1", text("Hi"), uuid="same", parent="u000", requestId=None)
    log.user("Bye")
    assert states(log) == ["repeated/assistant"]
    assert [len(draft.parts) for draft in drafts(log)] == [1, 1, 1]
    assert is_line(log)


STEPS = st.sampled_from(["prompt", "answer", "result", "progress", "interrupt", "side", "summary", "boundary", "again"])


def grow(log, step, name, above):
    """Add a record of some kind, as a child of the last one or of an earlier one."""
    spoken = [record["uuid"] for record in log.records if "uuid" in record]
    below = {} if above is None else {"parent": spoken[above % len(spoken)] if spoken else "phantom"}
    match step:
        case "prompt":
            log.user(f"Sell {name}", **below)
        case "answer":
            log.answer(f"m{name}", text("I look"), call(f"c{name}"), tokens=len(log.records), **below)
        case "result":
            log.result(f"c{name}", **below)
        case "progress":
            log.progress(**below)
        case "interrupt":
            log.user([text("[Request interrupted by user]")], **below)
        case "side":
            log.answer(f"s{name}", text("Found"), isSidechain=True, agentId=f"a{name}", tokens=name, **below)
        case "summary":
            log.summary(**below)
        case "boundary":
            log.boundary(log.last)
        case "again" if spoken:
            log.user("Again", uuid=spoken[-1], **below)


def check_growth(log):
    """Assert that every prefix of a file yields a prefix of its messages, except for the last one, which is open."""
    whole = drafts(log)
    for size in range(1, len(log.records)):
        part = Log()
        part.records = log.records[:size]
        found = drafts(part)
        if found:
            assert found[:-1] == whole[: len(found) - 1]
            opened = whole[len(found) - 1]
            assert (found[-1].key, found[-1].parent, found[-1].author) == (opened.key, opened.parent, opened.author)
            assert found[-1].parts == opened.parts[: len(found[-1].parts)]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(STEPS, st.integers(0, 2), st.integers(0, 20) | st.none()), min_size=1, max_size=14))
def test_a_further_record_changes_only_the_last_message(steps):
    log = Log()
    log.state("mode", mode="normal")
    for step, name, above in steps:
        grow(log, step, name, above)
    check_growth(log)
