"""The marks of merged branches in words: names, fork point, authors, and the digest of both sides."""

from __future__ import annotations

import pytest

from scopes.conversation.append import retract
from scopes.conversation.branch import abandon, branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.log import log
from scopes.conversation.merge import MergeOptions, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch, new, rename_branch
from scopes.model.message import Author
from tests.support.decisions import decide
from tests.support.history import history, say

CALL = {"type": "tool_call", "name": "Bash", "call_id": "1", "input": {"command": "pytest -q tests"}}
RESULT = {"type": "tool_result", "call_id": "1", "output": "1 failed", "exit_code": 1}


@pytest.fixture
def sides(repository):
    """Two branches: main has c and d after the fork point b, alt has x and y."""
    return history(repository, "main: a b c d", "alt@b: x y")


def marks(repository, where="conv-001/main"):
    """Return the marks of a log, each once, newest first."""
    entries = log(repository, where, digests=True).items
    return list(dict.fromkeys(mark for entry in entries for mark in entry.lanes))


def merged(repository, source="alt", target="main", **options):
    return merge(repository, "conv-001", source, target=target, options=MergeOptions(**options))


def test_a_mark_names_branch_fork_point_turns_and_authors(repository, sides):
    merged(repository)
    (mark,) = marks(repository)
    assert mark.begin() == "parallel branch alt, from message 2 (fork point), 2 messages, by carol"
    assert mark.end() == "end of branch alt; back on main"
    assert mark.fork == sides.ids["b"]
    assert mark.begin("b") == "parallel branch alt, from b (fork point), 2 messages, by carol"


def test_a_branch_from_the_root_begins_at_the_beginning(repository):
    history(repository, "main: a", "alt@root: x")
    merged(repository)
    assert marks(repository)[0].begin() == "parallel branch alt, from the beginning, 1 message, by carol"


def test_a_resolution_is_not_cut_and_paths_are_those_of_the_project(repository, sides, monkeypatch):
    """A context cut the decision at `map[st... [truncated]` and kept long absolute paths."""
    where = "/home/carol/shop"
    monkeypatch.setattr("scopes.merge.lanes.find_directory", lambda *_: where)
    value = "a typed wrapper with an extra map for all hooks of unknown types, kept in the order of the file"
    decide(repository, "conv-001/alt", value)
    decide(repository, "conv-001/main", "json.RawMessage everywhere")
    say(repository, "conv-001/main", "edit", files=[{"path": f"{where}/src/a.py", "op": "edit"}])
    number = merged(repository).conflicts[0].id
    resolve_conflict(
        repository, "conv-001", number, take="source", reason="it works on every server", author=Author("lead", "human")
    )
    continue_merge(repository, "conv-001")
    digest = marks(repository)[0].digest
    assert "changed src/a.py" in digest[0]
    assert f"took source ({value})" in digest[2]
    assert "truncated" not in digest[2]


def test_agents_are_named_before_people_and_at_most_three(repository, sides):
    for number in range(5):
        say(repository, "conv-001/alt", "hello", author=f"agent-{number}")
    say(repository, "conv-001/alt", "good", author={"name": "Eve", "kind": "human"})
    merged(repository)
    assert marks(repository)[0].begin().endswith("8 messages, by carol, agent-0, agent-1 and 3 more")


def test_a_branch_that_was_renamed_or_has_grown_keeps_its_mark(repository, sides):
    merged(repository)
    rename_branch(repository, "conv-001", "alt", "second")
    assert marks(repository)[0].branch == "second"
    say(repository, "conv-001/second", "more")
    assert marks(repository)[0].branch == "alt"


def test_abandoned_and_deleted_branches_are_still_named(repository, sides):
    merged(repository)
    abandon(repository, "conv-001", "alt")
    assert marks(repository)[0].branch == "alt"
    delete_branch(repository, "conv-001", "alt")
    assert marks(repository)[0].branch == "alt"


def test_a_merged_branch_of_another_conversation_is_named(repository, sides):
    """It was the beginning of a commit id in log, context and history."""
    new(repository, conversation_id="other")
    say(repository, "other/main", "hello")
    merged(repository, source="other/main", allow_unrelated=True)
    assert marks(repository)[0].branch == "other/main"


def test_a_branch_that_began_in_the_merged_one_does_not_give_it_a_name(repository, sides):
    branch(repository, "conv-001", name="later", start=sides.oids["y"], switch=False)
    say(repository, "conv-001/later", "z")
    merged(repository)
    delete_branch(repository, "conv-001", "alt")
    assert marks(repository)[0].branch == "alt"


def test_the_target_is_named_from_the_branch_that_is_looked_at(repository, sides):
    merged(repository, source="main", target="alt")
    say(repository, "conv-001/main", "more")
    (mark,) = marks(repository, "conv-001/alt")
    assert (mark.branch, mark.into) == ("main", "alt")


def test_a_digest_has_the_work_of_both_sides(repository, sides):
    decide(repository, "conv-001/main", "jwt")
    say(repository, "conv-001/main", "edit", files=[{"path": "src/a.py", "op": "edit"}])
    for number in range(6):
        say(repository, "conv-001/alt", "edit", files=[{"path": f"b{number}.py", "op": "create"}])
    say(repository, "conv-001/alt", "read", files=[{"path": "read.py", "op": "read"}])
    say(repository, "conv-001/alt", "test", parts=[CALL, RESULT])
    merged(repository)
    assert marks(repository)[0].digest == (
        "main since the fork point: 4 messages; decided auth: jwt; changed src/a.py",
        "alt: 10 messages; changed b0.py, b1.py, b2.py and 3 more; tests failed (pytest -q tests)",
    )


def test_a_digest_says_how_conflicts_were_resolved(repository, sides):
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/alt", "sessions")
    number = merged(repository).conflicts[0].id
    resolve_conflict(repository, "conv-001", number, take="source", reason="simpler", author=Author("lead", "human"))
    continue_merge(repository, "conv-001")
    (mark,) = marks(repository)
    assert mark.digest[2] == "conflicts resolved: decision auth: took source (sessions), by lead: simpler"


def test_a_digest_leaves_out_what_was_retracted(repository, sides):
    wrong = decide(repository, "conv-001/alt", "md5")
    retract(repository, "conv-001", wrong.id, "", author=Author("carol", "agent"), branch="alt")
    merged(repository)
    assert "md5" not in " ".join(marks(repository)[0].digest)


def test_a_digest_is_a_few_lines_whatever_is_in_it(repository, sides):
    for number in range(8):
        decide(repository, "conv-001/alt", "long " * 200, topic=f"topic {number} " + "x" * 100)
    merged(repository)
    digest = marks(repository)[0].digest
    assert len(digest) == 2
    assert all(len(line) < 450 and "\n" not in line for line in digest)


def test_nested_merges_are_in_the_lanes_of_both(repository):
    history(repository, "main: a b", "alt@a: x", "deep@x: p")
    say(repository, "conv-001/alt", "y")
    merge(repository, "conv-001", "deep", target="alt")
    merged(repository)
    found = {entry.message.text: entry.lanes for entry in log(repository, "conv-001/main").items}
    assert [mark.branch for mark in found["p"]] == ["alt", "deep"]
    assert found["p"][1].into == "alt"
    assert [mark.branch for mark in found["y"]] == ["alt"]
    assert found["b"] == ()


def test_criss_cross_merges_have_each_message_in_one_lane(repository):
    history(repository, "main: a b", "alt@a: x")
    merge(repository, "conv-001", "alt", target="main")
    merge(repository, "conv-001", "conv-001/main~1", target="alt")
    say(repository, "conv-001/alt", "y")
    say(repository, "conv-001/main", "c")
    merged(repository)
    found = [(entry.message.text, [m.branch for m in entry.lanes]) for entry in log(repository, "conv-001/main").items]
    texts = [text for text, _ in found if not text.startswith("Merge")]
    assert sorted(texts) == ["a", "b", "c", "x", "y"]
    assert dict(found)["y"] == ["alt"]
    assert dict(found)["b"] == dict(found)["c"] == []


def test_a_target_that_moved_while_the_merge_was_stopped_makes_no_branch_of_its_own(repository, sides):
    """A context had a branch conflict-resolution/alt-into-main, with the work of main."""
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/alt", "sessions")
    conflict = merged(repository).conflicts[0].id
    say(repository, "conv-001/main", "meanwhile")
    resolve_conflict(repository, "conv-001", conflict, take="source", author=Author("lead", "human"))
    continue_merge(repository, "conv-001")
    (mark,) = marks(repository)
    assert (mark.branch, mark.into, mark.messages) == ("alt", "main", 3)
    assert [line.partition(":")[0] for line in mark.digest] == [
        "main since the fork point",
        "alt",
        "conflicts resolved",
    ]
    lanes = {entry.head.subject: bool(entry.lanes) for entry in log(repository, "conv-001/main").items}
    assert (lanes["meanwhile"], lanes["x"], lanes["d"]) == (False, True, False)
