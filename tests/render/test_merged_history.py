"""A history with a merge, a resolved conflict and one that waits, in the views that draw histories."""

from __future__ import annotations

import re

import pytest

from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.log import log
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.show import show
from scopes.model.message import Author
from scopes.render.view import ViewOptions
from tests.render.rendering import document, draw_mermaid, piped, seen_lines
from tests.render.test_mermaid import MERMAID, parse_with_mermaid, play
from tests.render.with_options import WithOptions
from tests.support.history import history, say

RESOLUTION = "conflict-resolution/fix-into-main"


def decide(repository, branch, word):
    """State a decision on a branch."""
    say(repository, f"conv-001/{branch}", word, kind="decision", decision={"topic": "db", "decision": word})


@pytest.fixture
def merged(repository):
    """A merge of fix with a resolved conflict, later messages on main, a merge of docs, and another conflict with docs."""
    history(repository, "main: a", "fix@a: b", "docs@a: c")
    decide(repository, "main", "SQLite")
    decide(repository, "fix", "files")
    merge(repository, "conv-001", "fix", target="main")
    say(repository, "conv-001/main", "meanwhile")
    resolve_conflict(repository, "conv-001", "1", take="source", reason="simpler", author=Author("erin", "human"))
    continue_merge(repository, "conv-001")
    merge(repository, "conv-001", "docs", target="main")
    decide(repository, "docs", "paper")
    decide(repository, "main", "stone")
    merge(repository, "conv-001", "docs", target="main")
    return repository


def test_the_graph_shows_both_sides_of_every_merge(merged):
    lines = seen_lines(
        WithOptions(log(merged, "conv-001", all_branches=True, graph=True), ViewOptions(graph=True, oneline=True)), 100
    )
    drawn = [re.split(r"(?:SYSTEM|carol|decision) +(?:\([^)]*\) )?", line)[-1] for line in lines if "●" in line]
    assert drawn[:4] == [
        "Merge branch 'docs' int…",
        "Conflict detected, creating resolution branch",
        "stone",
        "Merge branch 'docs' into main (1 message)",
    ]
    assert sum("─╮" in line or "─┤" in line for line in lines) == 4
    assert all(len(line) <= 100 for line in lines)


def test_the_tree_shows_the_status_of_the_branches(merged):
    lines = seen_lines(show(merged, "conv-001", include_hidden=True), 100)
    assert any(line.startswith(f"├─ {RESOLUTION} (") and "merged" in line for line in lines)
    assert any(line.startswith("└─ conflict-resolution/docs-into-main (") and "*ACTIVE*" in line for line in lines)


def test_mermaid_can_execute_the_diagram(merged):
    graph = play(draw_mermaid(merged, "conv-001", include_hidden=True).text)
    assert {"main", "fix", "docs", RESOLUTION, "conflict-resolution/docs-into-main"} <= set(graph.heads)
    merges = [name for name, (parents, *_) in graph.commits.items() if len(parents) == 2]
    assert len(merges) >= 3


@pytest.mark.needs_node
@pytest.mark.skipif(not MERMAID, reason="SCOPES_TEST_MERMAID names no folder with @mermaid-js/tiny and jsdom")
def test_mermaid_itself_builds_the_merges(merged):
    text = draw_mermaid(merged, "conv-001").text
    (built,) = parse_with_mermaid([text])
    assert "error" not in built, (built, text)
    assert [len(one["parents"]) for one in built["commits"]] == [
        len(parents) for parents, *_ in play(text).commits.values()
    ]


def test_a_log_marks_merged_branches_newest_first(merged):
    lines = seen_lines(log(merged, "conv-001/main", digests=True), 100)
    marks = [line for line in lines if line.startswith("──")]
    assert [mark.partition(",")[0] for mark in marks] == [
        "── parallel branch docs",
        "── end of branch docs; back on main",
        "── parallel branch fix",
        "── end of branch fix; back on main",
    ]
    begin = lines.index(marks[0])
    assert lines[begin + 1 : begin + 3] == [
        "    main since the fork point: 7 messages; decided db: files",
        "    docs: 1 message",
    ]


def test_a_log_marks_merged_branches_oldest_first(merged):
    result = log(merged, "conv-001/main", oldest_first=True, digests=True)
    lines = seen_lines(WithOptions(result, ViewOptions(oneline=True)), 100)
    marks = [line.partition(",")[0] for line in lines if line.startswith("──")]
    assert marks[0] == "── parallel branch fix"
    assert marks[-1] == "── end of branch docs; back on main"
    assert not any("fork point:" in line for line in lines), "digests are for the long form"


def test_a_filtered_or_limited_log_marks_what_it_shows(merged):
    lines = seen_lines(WithOptions(log(merged, "conv-001/main", limit=3), ViewOptions(oneline=True)), 100)
    assert [line.partition(",")[0] for line in lines if line.startswith("──")] == ["── parallel branch docs"]


def test_a_piped_log_has_no_marks_and_json_names_the_lane(merged):
    result = [*log(merged, "conv-001/main").items]
    assert "──" not in "".join(piped(entry) for entry in result)
    named = {entry.message.text: document(entry).get("lane") for entry in result}
    assert (named["c"], named["b"], named["a"]) == ("docs", "fix", None)
