"""Brief rows of `list`: equal to complete ones in the fields that they have, and few objects are read for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scopes.conversation.abandon import abandon
from scopes.conversation.append import append
from scopes.conversation.brief_rows import BriefRows
from scopes.conversation.gc import gc
from scopes.conversation.list import list_conversations
from scopes.conversation.list_rows import ConversationReader, group_by_conversation
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.conversation.rename import rename_title
from scopes.conversation.tag import tag
from scopes.history.messages import plain_message
from scopes.history.recorded_times import RecordedTimes
from scopes.store.read_once import ReadOnce
from tests.support.history import history, say
from tests.support.store import git, make_store, remove_object

BRIEF = ("id", "participants", "branches", "last_activity", "title", "recorded_at")


def write_variety(repository):
    """Write conversations of every form that a list distinguishes."""
    history(repository, "main: a b", "fix@a: c", "same@b:")
    abandon(repository, "conv-001", "fix")
    new(repository, title="Zoë's \t title", directory="/home/carol/shop")
    new(repository, participants=["reviewer", "a b", "日本", "x/y"])
    tag(repository, "conv-003", "good")
    history(repository, "main: d f", "fix@d: e", author="zoe")
    merge(repository, "conv-004", "fix", target="main")
    say(repository, new(repository, title="").id, "f", time="2026-03-01T10:00:00Z")
    append(repository, "conv-005", replace(plain_message("dave", "g"), time=None))
    new(repository, conversation_id="nameless")
    git(repository, "update-ref", "-d", "refs/scopes/meta/nameless")
    tree = git(repository, "mktree").strip()
    commit = git(repository, "commit-tree", tree, "-m", "by hand").strip()
    git(repository, "update-ref", "refs/heads/mine/work", commit)


def rows_of(repository, make):
    """Return a row for each conversation, made by `make` from its refs and what it is read with."""
    values = repository.list_refs("refs/")
    once, times = ReadOnce(repository, 1000), RecordedTimes(repository)
    return [make(refs_of, once, times)._asdict() for refs_of in group_by_conversation(values)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_brief_row_has_the_same_fields_as_one_that_is_completed(repository, packed):
    """Both before a gc, and after it, when trees are found by the commit graph."""
    write_variety(repository)
    if packed:
        gc(repository)
        say(repository, "conv-003", "after the gc")
        rename_title(repository, "conv-004", "Newer than the graph")
    opened = make_store(repository.path)
    brief = rows_of(opened, lambda refs_of, once, times: BriefRows(once, times, {}).read([refs_of])[0])
    full = rows_of(
        opened,
        lambda refs_of, once, times: ConversationReader(opened, refs_of, {}, times, once).read_brief(),
    )
    assert [[row[name] for name in BRIEF] for row in brief] == [[row[name] for name in BRIEF] for row in full]
    assert {row["branches"] for row in brief} == {1, 2}
    assert any(row["recorded_at"] for row in brief)


def test_the_list_is_the_same_before_and_after_a_gc(repository):
    write_variety(repository)
    for complete in (False, True):
        loose = list_conversations(make_store(repository.path), complete=complete)
        gc(repository)
        assert list_conversations(make_store(repository.path), complete=complete) == loose


def count_reads(repository):
    """Return how many objects are read for each row, one after the other."""
    opened = make_store(repository.path)
    opened.index_directory = repository.index_directory
    once, read, counts = ReadOnce(opened, 1000), [], []
    real = once._read
    once._read = lambda oid: read.append(oid) or real(oid)
    rows = BriefRows(once, RecordedTimes(opened), {})
    for refs_of in group_by_conversation(opened.list_refs("refs/")):
        before = len(read)
        rows.read([refs_of])
        counts.append(len(read) - before)
    return counts


def test_five_objects_are_read_for_a_row_and_four_with_a_commit_graph(repository, tmp_path):
    """The tip, its tree, the metadata's commit and tree, and the title; states that were read are known."""
    for number in range(8):
        say(repository, new(repository, title=f"title {number}").id, f"message {number}", author="zoe")
    repository.index_directory = str(tmp_path)  # where gc keeps that the graph is right
    gc(repository)
    first, *others = count_reads(repository)
    assert (first, others) == (6, [4] * 7)
    Path(repository.path, "objects", "info", "commit-graph").unlink()
    assert count_reads(repository) == [7, *[5] * 7]


def test_only_tips_that_scopes_wrote_are_looked_up_in_the_operation_log(repository, monkeypatch):
    write_variety(repository)
    asked = []
    real = RecordedTimes.find_newest
    monkeypatch.setattr(RecordedTimes, "find_newest", lambda self, tips: asked.extend(tips) or real(self, tips))
    rows_of(repository, lambda refs_of, once, times: BriefRows(once, times, {}).read([refs_of])[0])
    assert {email for _, _, email in asked} == {"scopes@systems.scopes"}
    assert git(repository, "rev-parse", "conv-004/main").strip() in {oid for oid, _, _ in asked}


@pytest.mark.parametrize("of", ["conv-001/main", "conv-001/main^{tree}", "META", "META^{tree}", "META:title"])
def test_whatever_object_of_a_row_is_missing_its_conversation_is_left_out(repository, of):
    for text in ("a", "b"):
        say(repository, new(repository, title=f"title {text}").id, text)
    lost = git(repository, "rev-parse", of.replace("META", "refs/scopes/meta/conv-001")).strip()
    git(repository, "commit-graph", "write", "--reachable")
    remove_object(repository, lost)
    listed = list_conversations(make_store(repository.path))
    assert ([row.id for row in listed.conversations], listed.damaged) == (["conv-002"], ("conv-001",))
    assert lost in listed.notes[0].text
