"""A purge that is killed at any step has done nothing, or `purge --continue` finishes it; it is never told as done."""

from __future__ import annotations

import shutil

import pytest

from scopes.conversation.verify import verify
from scopes.errors import NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.memory.add import add as add_entry
from scopes.purge.damage import walk_purge_defects
from scopes.purge.on_remotes import read_values
from scopes.purge.purge import Places, continue_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.purge.unfinished import find_unfinished
from scopes.search.run import search
from scopes.store import locks
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.remotes import add, make_bare, push_to
from tests.support.snapshot import take_snapshot
from tests.support.store import Process, open_store

WORD = "Xylophone-Quarantine-4711"
# The N-th call of a function that changes something, or that starts git, ends the process.
KILLED = """
import os, signal, subprocess
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store import git_program
store, message, left = open_store(path), sys.argv[2], [int(sys.argv[3])]

def ends_here(owner, name):
    original = getattr(owner, name)
    def wrapped(*words, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*words, **options)
    setattr(owner, name, wrapped)

for name in ("mkdir", "link", "rename", "replace", "unlink", "fsync", "rmdir", "open", "symlink"):
    ends_here(os, name)
ends_here(git_program.subprocess, "run")
done = purge(store, PurgeRequest(conversation="conv-001", messages=(message,)), Places(sys.argv[4]))
assert done.left == (), done.left
print("done", left[0])
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Take what a killed process has left for an orphan after a tenth of a second, in place of one."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.1)


def kill_at(store, message, step, index):
    """Purge a message in another process and kill it at a step; return the steps left, None if it was killed."""
    process = Process(KILLED, store, message, step, index)
    out, err = process.popen.communicate(timeout=60)
    assert process.popen.returncode in {0, -9}, err
    return int(out.split()[1]) if process.popen.returncode == 0 else None


@pytest.fixture
def drawn(repository, tmp_path):
    """Make a store with the word in a pushed message, in a memory entry, and below a merge."""
    add(repository, make_bare(tmp_path / "bare.git"))
    made = history(repository, f"main: a {WORD} b", "fix@b: c")
    add_entry(repository, f"{WORD} is the word", agent="carol")
    push_to(repository)
    say(repository, made.conversation, "later")
    return made


def finish_after_kills(repository, drawn, tmp_path, choose):
    """Kill purges of the same store at the chosen steps, and finish each."""
    snapshot, index = take_snapshot(repository.path), str(tmp_path / "index")
    whole = str(tmp_path / "whole")
    snapshot.write(whole)
    total = 100_000 - kill_at(whole, drawn.ids[WORD], 100_000, index)
    wanted, values = list_branch_tips(open_store(whole), "conv-001"), read_values(whole)
    assert total > 50
    for step in choose(total):
        path = str(tmp_path / f"try{step}")
        snapshot.write(path)
        search(open_store(path), WORD, index_directory=index)
        assert kill_at(path, drawn.ids[WORD], step, index) is None
        store = open_store(path)
        if find_unfinished(path) is None:
            done = purge(store, PurgeRequest(conversation="conv-001", messages=(drawn.ids[WORD],)), Places(index))
        else:
            done = continue_purge(store, Places(index))
        assert (done.left, find_word(WORD, path, index)) == ((), []), step
        assert (list_branch_tips(store, "conv-001"), read_values(path)) == (wanted, values)
        assert [each.problem for each in verify(store).findings if each.severity == "error"] == [], step
        shutil.rmtree(path)


def test_a_purge_that_is_killed_can_be_finished(repository, drawn, tmp_path):
    finish_after_kills(repository, drawn, tmp_path, lambda total: range(3, total + 1, total // 4))


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(1, 9))
def test_a_purge_that_is_killed_anywhere_can_be_finished(repository, drawn, tmp_path, first):
    finish_after_kills(repository, drawn, tmp_path, lambda total: range(first, total + 1, 8))


def interrupt(repository, monkeypatch, name, request, places):
    """Purge, and break off when a function of the module is called."""

    def broken(*_words, **_options):
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(f"scopes.purge.purge.{name}", broken)
        with pytest.raises(OSError, match="the disk is gone"):
            purge(repository, request, places)


@pytest.mark.parametrize(
    "name", ["add_values", "ReflogRewriter", "drop_unreachable", "delete_in_store", "prove", "end"]
)
def test_a_purge_that_broke_off_is_found_by_verify_and_refuses_another_one(
    repository, drawn, places, monkeypatch, name
):
    request = PurgeRequest(conversation="conv-001", messages=(drawn.ids[WORD],))
    interrupt(repository, monkeypatch, name, request, places)
    assert [each.cure for each in walk_purge_defects(repository)] == ["finish it: scopes purge --continue"]
    with pytest.raises(Refused, match="interrupted"):
        purge(repository, request, places)
    assert continue_purge(repository, places).left == ()
    assert list(walk_purge_defects(repository)) == []
    assert [each.problem for each in verify(repository).findings if each.severity == "error"] == []
    assert find_word(WORD, repository.path) == []


def test_a_purge_that_fails_before_any_ref_moves_leaves_nothing_to_finish(repository, drawn, places, monkeypatch):
    before, request = repository.list_refs(), PurgeRequest(conversation="conv-001", messages=(drawn.ids[WORD],))
    interrupt(repository, monkeypatch, "rewrite_store", request, places)
    assert (find_unfinished(repository.path), list(walk_purge_defects(repository))) == (None, [])
    assert repository.list_refs() == before
    assert purge(repository, request, places).left == ()
    assert find_word(WORD, repository.path) == []


def test_nothing_is_changed_before_the_refs_move(repository, drawn, places, monkeypatch):
    before = repository.list_refs()
    interrupt(repository, monkeypatch, "add_values", PurgeRequest(("conv-001",)), places)
    assert repository.list_refs() == before
    assert continue_purge(repository, places).conversations == 1


def test_there_is_nothing_to_continue_after_a_purge(repository, drawn, places):
    purge(repository, PurgeRequest(("conv-001",)), places)
    with pytest.raises(NotFound, match="no purge was interrupted"):
        continue_purge(repository, places)


def test_a_purge_that_has_forgotten_the_text_deletes_every_log(repository, drawn, places, monkeypatch, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (state / "acp.log.1").write_text("an error about " + WORD)
    (state / "notes").write_text("mine")
    interrupt(repository, monkeypatch, "prove", PurgeRequest(("conv-001",)), places._replace(state=None))
    continue_purge(repository, places)
    assert [path.name for path in state.iterdir()] == ["notes"]
