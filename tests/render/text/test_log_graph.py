from __future__ import annotations

import re

from scopes.conversation.log import Log, LogEntry, log
from scopes.render.view_options import ViewOptions
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import ENTRIES, SAMPLES, head
from tests.render.with_options import WithOptions
from tests.support.history import history

LOG = SAMPLES["log"]


def drawn(entries, width=80, *, oneline=True):
    """The lines of a graph on a terminal."""
    return seen_lines(
        WithOptions(Log(items=entries, conversation="conv-001"), ViewOptions(graph=True, oneline=oneline)), width
    )


def entry(word, *parents):
    """A message that says its own name."""
    made = head(word, "carol", word, parents=parents)
    return LogEntry(head=made, parents=made.parents, message=None, branches=())


def without_text(lines):
    """The drawing alone."""
    return [re.split(r"[a-z(]", line)[0].rstrip() for line in lines]


def test_a_line_of_messages_is_a_line_of_dots(at_one_moment):
    assert drawn([entry("c", "b"), entry("b", "a"), entry("a")]) == [
        "● c2222222 2m ago     carol         c",
        "● b2222222 2m ago     carol         b",
        "● a2222222 2m ago     carol         a",
    ]


def test_a_fork_joins_where_it_began():
    lines = drawn([entry("d", "b"), entry("c", "a"), entry("b", "a"), entry("a")])
    assert without_text(lines) == ["●", "│ ●", "● │", "├─╯", "●"]


def test_a_merge_opens_a_column_for_its_second_parent():
    lines = drawn([entry("m", "a", "b"), entry("b"), entry("a")])
    assert lines[0].startswith("●   m2222222")
    assert lines[1] == "├─╮"
    assert lines[2].startswith("│ ● b2222222")


def test_text_is_next_to_its_commit_and_the_edges_below_it(at_one_moment):
    lines = seen_lines(LOG["graph"])
    start = lines.index("●   message decide22")
    assert lines[start + 1] == "├─╮ Author: lead"
    assert lines[start + 2] == "│ │ Kind:   decision"
    assert lines[start + 4] == "│ │"


def test_no_line_of_a_graph_ends_in_blanks(at_one_moment):
    for name in ("graph", "graph-oneline"):
        assert all(line == line.rstrip() for line in seen_lines(LOG[name]))
        assert all(line == line.rstrip() for line in piped(LOG[name]).splitlines())


def test_text_is_wrapped_next_to_the_graph(at_one_moment):
    assert all(len(line) <= 50 for line in seen_lines(LOG["graph"], 50))


def test_a_parent_that_a_limit_cut_off_leaves_its_line_open():
    lines = drawn([entry("e", "d"), entry("c", "b")])
    assert without_text(lines) == ["●", "│ ●"]


def test_a_piped_graph_has_whole_ids_and_is_not_folded(at_one_moment):
    shown = piped(LOG["graph"])
    assert f"● message {ENTRIES[0].head.id} (main, fix)\n" in shown
    assert "│     line 8" + " and so on" * 8 + "\n" in shown


def test_each_column_has_its_color():
    shown = seen(LOG["graph-oneline"].replaced(items=ENTRIES), color=True)
    assert shown.startswith("\x1b[32m● \x1b[0m\x1b[33mlength22\x1b[0m")
    assert "\x1b[32m├\x1b[0m\x1b[33m─╮\x1b[0m\n" in shown


def test_a_real_history_is_drawn(repository):
    drawing = history(repository, "main: a b c", "fix@b: d e")
    found = log(repository, drawing.conversation, all_branches=True, graph=True)
    lines = [
        re.sub(r"[a-z2-7]{8} .* carol +", "", line)
        for line in seen_lines(WithOptions(found, ViewOptions(graph=True, oneline=True)))
    ]
    assert lines == ["● (fix) e", "● d", "│ ● (main) c", "├─╯", "● b", "● a"]
