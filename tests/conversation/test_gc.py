"""`gc`: pack the store; delete old trash only with --expire (P7)."""

from __future__ import annotations

import os

import pytest

from scopes import clock
from scopes.conversation.branch import rewind, tag
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.store import gc
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Busy, Inaccessible, Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.store import git_program
from tests.support.history import history, say, texts
from tests.support.store import git, open_store, refs


def loose_objects(repository):
    return int(git(repository, "count-objects").split()[0])


def test_packing_changes_no_result(repository):
    history(repository, "main: a b c", "fix@b: d")
    rewind(repository, "conv-001")
    before, operations = refs(repository), list_operations(repository)
    result = gc(repository)
    assert (refs(repository), list_operations(repository)) == (before, operations)
    assert (result.path, result.expired_operations, result.expired_refs, result.notes) == (repository.path, 0, 0, ())
    assert loose_objects(repository) == 0
    assert verify(repository).findings == ()


def test_packing_many_messages_saves_space(repository):
    history(repository, "main: " + " ".join(f"m{number}" for number in range(30)))
    result = gc(repository)
    assert 0 < result.bytes_after < result.bytes_before / 3
    assert texts(repository, "conv-001")[-1] == "m29"


def test_a_packed_store_can_be_written(repository):
    """Also with the repository object that was open before."""
    history(repository, "main: a")
    other = open_store(repository.path)
    gc(repository)
    say(other, "conv-001", "b")
    say(repository, "conv-001", "c")
    gc(other)
    assert texts(repository, "conv-001") == ["a", "b", "c"]


def test_undo_works_after_gc(repository):
    """P7, P9."""
    drawn = history(repository, "main: a b", "fix: c")
    rewind(repository, "conv-001")
    delete(repository, "conv-001")
    gc(repository)
    undo(repository)
    undo(repository)
    redo(repository)
    undo(repository)
    assert list_branch_tips(repository, drawn.conversation)["main"] == drawn.oids["b"]


def test_files_of_dead_processes_are_removed(repository):
    """P4."""
    history(repository, "main: a")
    names = ("refs/heads/conv-001/main.lock", "packed-refs.lock", "objects/tmp_obj_x")
    for name in names:
        open(os.path.join(repository.path, name), "wb").close()
    gc(repository)
    assert not [name for name in names if os.path.exists(os.path.join(repository.path, name))]
    say(repository, "conv-001", "b")


def expire_everything(repository):
    """Expire all operations, and let git prune without its two weeks of grace."""
    result = gc(repository, expire_before="now")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    return result


def test_expire_deletes_operations_and_their_trash(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    rewind(repository, "conv-001")
    other = history(repository, "main: d")
    delete(repository, "conv-002")
    result = expire_everything(repository)
    assert (result.expired_operations, result.expired_refs) == (5, 2)
    assert "two weeks" in result.notes[0].text
    with pytest.raises(Refused, match="gc --expire cannot be undone: delete 5 operations and 2 refs"):
        undo(repository)
    survivor = open_store(repository.path)
    assert not survivor.has(drawn.oids["b"])
    assert not survivor.has(other.oids["d"])
    assert texts(survivor, "conv-001/main") == ["a"]
    assert texts(survivor, "conv-001/fix") == ["a", "c"]


def test_only_operations_before_the_date_expire(repository, monkeypatch):
    history(repository, "main: a b")
    deleted = rewind(repository, "conv-001")
    day = 86_400_000_000_000
    seconds = iter(range(clock.read_clock() + 10 * day, 10**20, 10**9))
    monkeypatch.setattr(clock, "read_clock", lambda: next(seconds))
    kept = tag(repository, "conv-001", "v1")
    assert gc(repository, expire_before="20 days ago").expired_operations == 0
    assert gc(repository, expire_before="3 days ago").expired_operations == 2
    assert [operation.id for operation in list_operations(repository).operations][1:] == [kept.operation]
    assert undo(repository, kept.operation).target.id == kept.operation
    with pytest.raises(NotFound):
        undo(repository, deleted.operation)


def test_expiring_twice_changes_nothing(repository):
    history(repository, "main: a")
    assert gc(repository, expire_before="now").expired_operations == 1
    again = gc(repository, expire_before="now")
    assert (again.expired_operations, again.expired_refs, again.notes) == (0, 0, ())


def test_an_invalid_date_is_refused_before_anything_is_written(repository):
    history(repository, "main: a")
    loose = loose_objects(repository)
    for moment in ("soon", ""):
        with pytest.raises(Invalid, match="is not a valid time") as refusal:
            gc(repository, expire_before=moment)
        assert refusal.value.hint
    assert loose_objects(repository) == loose


def test_a_locked_store_is_busy(repository):
    """P7: gc runs alone."""
    git(repository, "config", "scopes.lockTimeout", "0")
    with open_store(repository.path).lock.shared(), pytest.raises(Busy, match="the store is busy"):
        gc(open_store(repository.path))


def test_without_git_gc_is_refused_and_nothing_is_lost(repository, monkeypatch):
    history(repository, "main: a")
    monkeypatch.setattr(git_program, "find_git", lambda: None)
    with pytest.raises(Inaccessible, match="the git program is not installed") as refusal:
        gc(repository)
    assert "install git" in refusal.value.hint
    assert texts(repository, "conv-001") == ["a"]


def test_a_cache_that_cannot_be_emptied_is_reported(repository, monkeypatch):
    monkeypatch.setattr("scopes.conversation.store.delete_files", lambda directory: [f"no way: {directory}/index"])
    history(repository, "main: a")
    assert gc(repository, caches=("/cache",)).notes == ()
    notes = [note.text for note in gc(repository, expire_before="now", caches=("/cache",)).notes]
    assert "a cache may still hold what was deleted: no way: /cache/index" in notes


def test_a_dry_run_says_what_would_be_deleted_and_changes_nothing(repository):
    history(repository, "main: a b")
    history(repository, "main: c", "fix: d")
    deleted = delete(repository, "conv-002")
    before, log, loose = refs(repository), list_operations(repository), loose_objects(repository)
    planned = gc(repository, expire_before="now", dry_run=True)
    assert (refs(repository), list_operations(repository), loose_objects(repository)) == (before, log, loose)
    assert (planned.dry_run, planned.loose_objects, planned.bytes_after) == (True, loose, None)
    assert planned.operations[0] == deleted.operation
    assert set(planned.refs) == {ref for ref in before if "/trash/" in ref}
    done = gc(repository, expire_before="now")
    assert (done.expired_operations, done.expired_refs) == (planned.expired_operations, planned.expired_refs) == (4, 3)
    assert gc(repository, dry_run=True).operations == ()
