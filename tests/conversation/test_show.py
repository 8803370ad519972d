"""`show`: one conversation with its branches, their sizes, and its latest messages."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import abandon, branch, rewind, switch
from scopes.conversation.new_rename_delete import new, rename_title
from scopes.conversation.show import read_drawing, show
from scopes.errors import NotFound
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.history.sessions import SubAgent
from scopes.ids import AgentName
from scopes.model.message import Author
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.history import history, say
from tests.support.store import git


def summaries(repository, **options):
    return {summary.name: summary for summary in show(repository, "conv-001", **options).branches}


def test_a_conversation_view_has_id_title_participants_and_counts(repository):
    """S4-48."""
    made = new(repository, participants=["reviewer"])
    say(repository, "conv-001", "a", time="2026-02-01T00:00:00Z")
    rename_title(repository, "conv-001", "Login")
    seen = show(repository, "conv-001")
    assert (seen.id, seen.uuid, seen.title) == ("conv-001", made.uuid, "Login")
    assert (seen.participants, seen.active_branch, seen.messages) == (("carol", "reviewer"), "main", 1)
    assert (seen.created_at, seen.last_activity) == ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00Z")
    assert seen.source is None


def test_branches_are_listed_main_first_then_by_creation(repository):
    """S4-54."""
    history(repository, "main: a", "zeta:", "alpha:", "mid/dle:")
    switch(repository, "conv-001", "zeta")
    seen = show(repository, "conv-001")
    assert [b.name for b in seen.branches] == ["main", "zeta", "alpha", "mid/dle"]
    assert [b.active for b in seen.branches] == [False, True, False, False]


def test_a_branch_counts_its_own_and_all_reachable_messages(repository):
    """S4-54."""
    history(repository, "main: a b c", "fix@b: d e", "empty@a:", "early@root: f")
    found = summaries(repository)
    counts = {name: (summary.messages, summary.total) for name, summary in found.items()}
    assert counts == {"main": (3, 3), "fix": (2, 4), "empty": (0, 1), "early": (1, 1)}
    assert show(repository, "conv-001").messages == 6


def test_a_branch_rewound_behind_its_fork_has_no_messages_of_its_own(repository):
    history(repository, "main: a b c", "fix@b: d")
    rewind(repository, "conv-001/fix", count=2)
    assert (summaries(repository)["fix"].messages, summaries(repository)["fix"].total) == (0, 1)


def test_rewinding_main_behind_a_fork_keeps_the_own_count_of_the_branch(repository):
    history(repository, "main: a b c", "fix@b: d")
    rewind(repository, "conv-001/main", count=2)
    assert (summaries(repository)["fix"].messages, summaries(repository)["main"].messages) == (1, 1)


def test_a_branch_has_purpose_agent_parent_and_creation_time(repository):
    """S4-4."""
    history(repository, "main: a b")
    made = branch(repository, "conv-001", purpose="verification", agent="Code Checker", start="main~1")
    summary = summaries(repository)[made.name]
    assert (summary.purpose, summary.agent, summary.parent) == ("verification", "Code Checker", "main")
    assert (summary.fork, summary.tip) == (made.tip, made.tip)
    assert summary.created_at.startswith("2026-01-01T00:00:")


def test_the_last_activity_of_a_branch_is_the_later_of_tip_and_creation(repository):
    """S4-5."""
    history(repository, "main: a")
    say(repository, "conv-001", "imported", time="2020-05-05T00:00:00Z")
    branch(repository, "conv-001", name="fix")
    fix = summaries(repository)["fix"]
    assert fix.last_activity == fix.created_at
    assert summaries(repository)["main"].last_activity >= "2026-01-01T00:00:00"
    say(repository, "conv-001/fix", "later", time="2027-01-01T00:00:00Z")
    assert summaries(repository)["fix"].last_activity == "2027-01-01T00:00:00Z"


def test_a_branch_is_active_merged_or_abandoned(repository):
    """S4-8."""
    drawn = history(repository, "main: a", "fix: b", "other: c", "gone: d")
    abandon(repository, "conv-001", "gone")
    git(repository, "update-ref", "refs/heads/conv-001/main", drawn.oids["b"])
    statuses = {name: summary.status for name, summary in summaries(repository, include_hidden=True).items()}
    assert statuses == {"main": "active", "fix": "merged", "other": "active", "gone": "abandoned"}


def test_a_branch_without_messages_of_its_own_is_not_merged(repository):
    """S4-8."""
    history(repository, "main: a b", "empty@a:")
    assert summaries(repository)["empty"].status == "active"


def test_an_abandoned_branch_is_shown_only_on_request_or_if_active(repository):
    """S4-8."""
    history(repository, "main: a", "fix: b")
    abandon(repository, "conv-001", "fix")
    assert list(summaries(repository)) == ["main"]
    assert list(summaries(repository, include_hidden=True)) == ["main", "fix"]
    assert show(repository, "conv-001").messages == 2
    switch(repository, "conv-001", "fix")
    assert list(summaries(repository)) == ["main", "fix"]


@pytest.mark.parametrize(("count", "expected"), [(0, ""), (1, "d"), (2, "cd"), (3, "bcd"), (9, "abcd")])
def test_recent_messages_are_the_latest_of_all_branches_oldest_first(repository, count, expected):
    """S4-54."""
    history(repository, "main: a b", "fix@a: c d")
    assert "".join(each.head.subject for each in show(repository, "conv-001", recent=count).recent) == expected


def test_a_drawing_has_every_commit_parents_before_children(repository):
    drawn = history(repository, "main: a b", "fix@a: c", "late@c: d")
    drawing = read_drawing(repository, show(repository, "conv-001"))
    places = [commit.oid for commit in drawing.commits]
    assert sorted(places) == sorted([drawn.root, *drawn.oids.values()])
    for commit in drawing.commits:
        assert all(places.index(parent) < places.index(commit.oid) for parent in commit.parents)


def test_compactions_and_interrupts_are_counted_per_branch(repository):
    history(repository, "main: a", "fix@a: b")
    for kind in ("compaction", "interrupt", "interrupt"):
        append(repository, "conv-001", plain_message("x", kind, kind=kind), branch="fix")
    counts = {b.name: (b.compactions, b.interrupts) for b in show(repository, "conv-001").branches}
    assert counts == {"main": (0, 0), "fix": (1, 2)}


@pytest.mark.parametrize(("spawned_by", "expected"), [({"message": "k3x9"}, "k3x9"), ({}, None)])
def test_a_branch_started_by_a_tool_call_names_its_agent_and_the_call(repository, spawned_by, expected):
    history(repository, "main: a", "helper@root:", "other@root: b")
    first = plain_message(Author("user", "injected"), "Find it")
    append(repository, "conv-001", replace(first, extra={"spawned_by": spawned_by}), branch="helper")
    append(repository, "conv-001", plain_message("explorer", "Found"), branch="helper")
    agents = {b.name: b.sub_agent for b in show(repository, "conv-001").branches}
    assert agents == {"main": None, "helper": SubAgent(AgentName("explorer"), expected), "other": None}


def test_recent_messages_include_their_bodies(repository):
    history(repository, "main: a b c d")
    assert [each.message.text for each in show(repository, "conv-001").recent] == ["b", "c", "d"]


def test_an_empty_conversation_is_shown(repository):
    new(repository)
    seen = show(repository, "conv-001")
    assert (seen.messages, seen.recent, seen.last_activity) == (0, (), seen.created_at)
    assert [(b.messages, b.total) for b in seen.branches] == [(0, 0)]


def test_an_unknown_conversation_is_refused(repository):
    with pytest.raises(NotFound, match="there is no conversation 'conv-001'") as refusal:
        show(repository, "conv-001")
    assert refusal.value.hint == "list them: scopes list"


def test_a_branch_created_with_git_is_shown_without_metadata(repository):
    """D-43."""
    drawn = history(repository, "main: a b")
    git(repository, "update-ref", "refs/heads/conv-001/mine", drawn.oids["a"])
    mine = summaries(repository)["mine"]
    assert (mine.purpose, mine.agent, mine.parent, mine.fork, mine.created_at) == (None,) * 5
    assert (mine.messages, mine.total, mine.status) == (1, 1, "active")


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ("meta meta", "synthetic"), ("interrupt meta", "synthetic"), ("answer interrupt meta", "interrupted"),
        ("prompt interrupt", None), ("answer", None), ("compaction interrupt", None), ("", None),
    ],
)  # fmt: skip
def test_a_branch_that_was_not_continued_has_a_reason(repository, kinds, reason):
    """The reason of a branch."""
    history(repository, "main: a b", "fix@a:")
    for kind in kinds.split():
        append(repository, "conv-001", plain_message("x", kind, kind=kind), branch="fix")
    assert {b.name: b.reason for b in show(repository, "conv-001").branches} == {"main": None, "fix": reason}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("c:user", "edited"),
        ("c:user d:user", "edited"),
        ("c:user d:agent", "rewound"),
        ("c:agent", "answered-again"),
        ("c:agent d:user", "answered-again"),
        ("c:tool d:agent", "answered-again"),
    ],
)
def test_a_fork_within_an_imported_session_has_a_reason(repository, tmp_path, words, reason):
    """It forks after `a`; the session went on from there with `b`, so the fork is what was given up."""
    given = [word.split(":") for word in words.split()]
    parents = ["a", *(key for key, _ in given)]
    fork = [
        {"id": key, "parent": parent, "by": by, "say": key} for (key, by), parent in zip(given, parents, strict=False)
    ]
    first, *others = session_records("s1", "a b e")
    import_demo(repository, write_transcript(tmp_path / "s1", first, others[0], *fork, *others[1:]))
    (name,) = (each for each in list_branch_tips(repository, "conv-001") if each != "main")
    rows = {row.name: row for row in show(repository, "conv-001").branches}
    assert (rows[name].reason, rows["main"].reason) == (reason, None)
    branch(repository, "conv-001", name=f"fork/{rows[name].tip[:8]}", start="main~1")
    say(repository, "conv-001", "a prompt of a branch that no import made")
    assert {row.name: row.reason for row in show(repository, "conv-001").branches}[f"fork/{rows[name].tip[:8]}"] is None


def test_a_branch_of_another_session_names_that_session(repository, tmp_path):
    """The session s2 begins with s1, so it is a branch of its conversation; a branch of the user has no session."""
    base = session_records("s1", "a b c")
    size = sum(len(json.dumps(record)) + 1 for record in base)
    import_demo(
        repository,
        write_transcript(tmp_path / "s1", *base),
        write_transcript(tmp_path / "s2", *session_records("s2", "x y", base="s1", end=size)),
    )
    branch(repository, "conv-001", name="fork/mine", start="main~1")
    say(repository, "conv-001/fork/mine", "mine")
    sessions = {row.name: (row.reason, row.session) for row in show(repository, "conv-001").branches}
    assert sessions == {"main": (None, None), "fork/s2": ("other-session", "s2"), "fork/mine": (None, None)}


def test_main_is_never_called_synthetic(repository):
    history(repository, "main:")
    append(repository, "conv-001", plain_message("x", "left", kind="meta"))
    assert show(repository, "conv-001").branches[0].reason is None


def test_one_branch_is_shown_with_its_own_recent_messages(repository):
    """D7."""
    history(repository, "main: a b", "fix@a: c")
    view = show(repository, "conv-001/fix")
    assert ([row.name for row in view.branches], view.branch, view.branch_count) == (["fix"], "fix", 2)
    assert [each.head.subject for each in view.recent] == ["a", "c"]
    assert view.messages == 2
    with pytest.raises(NotFound, match="there is no branch 'nope'"):
        show(repository, "conv-001/nope")


def test_the_last_context_is_as_it_was_recorded_with_its_answer(repository):
    new(repository)
    say(repository, "conv-001", "a text without any usage")
    assert show(repository, "conv-001").tokens is None
    usage = {"input_uncached": 10, "cache_read": 100, "output": 5}
    answer = replace(plain_message("planner", "done"), model="m1", extra={"usage": usage})
    append(repository, "conv-001", answer)
    append(repository, "conv-001", plain_message("planner", "and more"))
    view = show(repository, "conv-001")
    assert (view.tokens, view.models) == (115, ("m1",))
