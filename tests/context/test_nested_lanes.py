"""A merge inside of a merged branch, with the work of each side, in every view of the history: the same lanes in all."""

from __future__ import annotations

import re

import pytest

from scopes.context.history_block import HistoryRequest
from scopes.context.history_block import history as history_block
from scopes.context.result import chat_messages
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.diff import diff
from scopes.conversation.log import log
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.new_rename_delete import new
from scopes.model.message import Author
from scopes.render.view import ViewOptions
from tests.context.building import MARK, built
from tests.exporters.building import exported
from tests.render.rendering import document, seen_lines
from tests.render.with_options import WithOptions
from tests.support.decisions import decide
from tests.support.history import say
from tests.support.tool_calls import call_tool

OUTER_DIGEST = [
    "main since the fork point: 1 message",
    "alt: 7 messages; decided auth: jwt; changed src/app.py; tests passed (pytest -q)",
]


@pytest.fixture
def nested(repository):
    """Main merges alt, which has merged deep; alt decided and tested, deep changed a file."""
    new(repository, directory="/work")
    say(repository, "conv-001/main", "one")
    branch(repository, "conv-001", name="alt", switch=False)
    say(repository, "conv-001/main", "two")
    decide(repository, "conv-001/alt", "jwt")
    branch(repository, "conv-001", name="deep", start="alt", switch=False)
    arguments = {"file_path": "/work/src/app.py", "content": "x = 1\n"}
    call_tool(repository, "conv-001/deep", "Write", arguments, structured={"type": "create"})
    say(repository, "conv-001/alt", "next to deep")
    merge(repository, "conv-001", "deep", target="alt")
    call_tool(repository, "conv-001/alt", "Bash", {"command": "pytest -q"}, output="3 passed", exit_code=0)
    merge(repository, "conv-001", "alt", target="main")
    say(repository, "conv-001/main", "afterwards")
    return repository


def order_of(text, *marks):
    """Return the marks in the order in which they are in a text; each must be there once."""
    assert [text.count(mark) for mark in marks] == [1] * len(marks)
    return sorted(marks, key=text.index)


MARKS = (
    "parallel branch alt, from",
    "parallel branch deep, from",
    "end of branch deep; back on alt",
    "end of branch alt; back on main",
)


def test_a_context_has_the_inner_lane_inside_of_the_outer_one(nested, exact, tmp_path):
    text = built(nested, exact, tmp_path).formatted_history.casefold()
    assert order_of(text, *MARKS) == list(MARKS)
    assert text.index("next to deep") < text.index(MARKS[1])
    assert text.index("afterwards") > text.index(MARKS[3])


def test_a_block_of_history_has_the_same_lanes(nested, exact):
    text = history_block(nested, HistoryRequest(where="conv-001", mark=MARK), exact).text
    assert order_of(text, *MARKS) == list(MARKS)
    assert "[deep: 2 messages; changed src/app.py]" in text


def test_chat_messages_have_the_same_lanes(nested, exact, tmp_path):
    text = "\n".join(message["content"] for message in chat_messages(built(nested, exact, tmp_path))).casefold()
    assert order_of(text, *MARKS) == list(MARKS)


@pytest.mark.parametrize("width", [80, 200])
def test_a_log_has_the_same_lanes_at_every_width(nested, width):
    lines = seen_lines(WithOptions(log(nested, "conv-001", oldest_first=True, digests=True), ViewOptions()), width)
    text = " ".join(" ".join(lines).split())
    assert order_of(text, *MARKS) == list(MARKS)
    assert max(map(len, lines)) <= width


def test_a_log_newest_first_begins_a_lane_with_its_newest_message(nested):
    text = "\n".join(seen_lines(WithOptions(log(nested, "conv-001", digests=True), ViewOptions()), 200))
    assert order_of(text, *MARKS) == list(MARKS)
    assert text.index("afterwards") < text.index(MARKS[0])
    assert text.index(MARKS[2]) < text.index("next to deep") < text.index(MARKS[3])


def test_a_markdown_file_has_the_same_lanes_as_headings(nested):
    text = exported(nested, "conv-001", "markdown")
    headings = re.findall(r"(?m)^## (Parallel branch \w+|End of branch \w+)", text)
    assert headings == ["Parallel branch alt", "Parallel branch deep", "End of branch deep", "End of branch alt"]


def test_json_names_the_innermost_lane_of_a_message(nested):
    found = {entry["text"]: entry.get("lane") for entry in document(log(nested, "conv-001"))["messages"]}
    assert (found["two"], found["next to deep"], found["afterwards"]) == (None, "alt", None)


@pytest.mark.parametrize("line", OUTER_DIGEST)
def test_the_digest_of_the_outer_merge_counts_the_work_of_the_inner_branch(nested, exact, line):
    assert f"[{line}]" in history_block(nested, HistoryRequest(where="conv-001", mark=MARK), exact).text


def test_diff_and_the_digest_of_context_history_and_log_count_the_same_messages(repository, exact, tmp_path):
    """One said 169 messages, one 94 turns, and a third 95 shown ones."""
    new(repository, directory="/work")
    say(repository, "conv-001/main", "one")
    branch(repository, "conv-001", name="alt", switch=False)
    for name, word in (("main", "jwt"), ("alt", "sessions")):
        decide(repository, f"conv-001/{name}", word)
        call_tool(repository, f"conv-001/{name}", "Bash", {"command": "ls"}, output="a", exit_code=0)
    say(repository, "conv-001/main", "a text of the program", author={"name": "claude", "kind": "injected"})
    compared = diff(repository, "conv-001", "main..alt")
    merge(repository, "conv-001", "alt", target="main")
    resolve_conflict(repository, "conv-001", "1", take="source", author=Author("carol"))
    merged = continue_merge(repository, "conv-001")
    shown = [f"main since the fork point: {len(compared.only_left)} messages;"]
    shown += [f"alt: {len(compared.only_right)} messages;"]
    assert (len(compared.only_left), len(compared.only_right), merged.source_messages) == (4, 3, 3)
    texts = (
        built(repository, exact, tmp_path).formatted_history,
        history_block(repository, HistoryRequest(where="conv-001", mark=MARK), exact).text,
        "\n".join(seen_lines(log(repository, "conv-001", digests=True), 200)),
    )
    assert [[each in text for each in shown] for text in texts] == [[True, True]] * 3
    assert ["(fork point), 3 messages, by" in text for text in texts] == [True] * 3
    assert "from message 1 (fork point)" in texts[0]
    assert "Showing 8 of 8 messages" in texts[0]  # those in the context
