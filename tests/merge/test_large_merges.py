"""A merge of many messages is written as one pack and is the same merge."""

from __future__ import annotations

import os
import shutil

import pytest

from scopes.conversation import merge as merge_module
from scopes.conversation.merge import MergeConflicted, Merged, merge
from scopes.conversation.verify import verify
from scopes.history.names import list_branch_tips
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, open_store


@pytest.fixture
def two(repository):
    """Two branches with three messages each; each side edits a file of its own."""
    history(repository, "main: a b", "alt@a: c d")
    for where, path in (("main", "src/one.py"), ("alt", "src/two.py")):
        say(repository, f"conv-001/{where}", f"{where} edits", files=[{"path": path, "op": "edit"}])
    return repository


def packs(repository):
    return {name for name in os.listdir(os.path.join(repository.path, "objects", "pack")) if name.endswith(".pack")}


def merged(repository, copy, monkeypatch, most):
    shutil.copytree(repository.path, copy)
    monkeypatch.setattr(merge_module, "_IN_ONE_PACK", most)
    opened = open_store(copy)
    return opened, merge(opened, "conv-001", "alt", target="main")


def test_a_merge_of_many_messages_is_one_pack(two, monkeypatch, tmp_path):
    opened, done = merged(two, tmp_path / "copy.git", monkeypatch, 3)
    assert isinstance(done, Merged)
    assert len(done.messages) == 3
    assert len(packs(opened) - packs(two)) == 1
    assert_sound(opened)
    assert verify(opened).exit_code == 0


def test_a_merge_of_few_messages_is_loose_objects(two, monkeypatch, tmp_path):
    opened, done = merged(two, tmp_path / "copy.git", monkeypatch, 4)
    assert isinstance(done, Merged)
    assert packs(opened) == packs(two)


def test_both_ways_lead_to_the_same_commit(two, monkeypatch, tmp_path):
    found = [merged(two, tmp_path / f"copy-{most}.git", monkeypatch, most)[0] for most in (3, 4)]
    assert len({list_branch_tips(each, "conv-001")["main"] for each in found}) == 1
    assert texts(found[0], "conv-001/main") == texts(found[1], "conv-001/main")


def test_a_dry_run_of_a_large_merge_writes_nothing(two, monkeypatch, tmp_path):
    monkeypatch.setattr(merge_module, "_IN_ONE_PACK", 1)
    before = packs(two), list_branch_tips(two, "conv-001")
    assert merge(two, "conv-001", "alt", target="main", dry_run=True).tip is None
    assert (packs(two), list_branch_tips(two, "conv-001")) == before


def test_a_large_merge_that_stops_is_loose_objects(two, monkeypatch, tmp_path):
    for where, choice in (("main", "jwt"), ("alt", "cookies")):
        say(two, f"conv-001/{where}", "", kind="decision", decision={"topic": "auth", "decision": choice})
    opened, done = merged(two, tmp_path / "copy.git", monkeypatch, 1)
    assert isinstance(done, MergeConflicted)
    assert packs(opened) == packs(two)
