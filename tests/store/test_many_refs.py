"""Many refs created or deleted by one operation: one rewrite of `packed-refs`, with the same result as one by one."""

from __future__ import annotations

import errno
import os
import re

import pytest

from scopes.model.operation import RefChange
from scopes.store import many_refs
from scopes.store.recovery import set_ref
from scopes.store.reflog import identify_actor, walk_moves
from scopes.store.refs import ACTIVE, HEADS, REMOTES
from tests.support.store import FAST, FULL, git, make_store, write_chain

NAMES = [f"{HEADS}conv-{number}/main" for number in range(many_refs.MIN_REFS)]


@pytest.fixture
def tip(repository):
    identify_actor(repository)
    return write_chain(repository, "one")[0]


def create(repository, tip, *names):
    return many_refs.move_many(repository, [RefChange(name, None, tip) for name in names], "import: all")


def is_loose(repository, name):
    return os.path.exists(os.path.join(repository.path, name))


def reflog(repository, name):
    with open(os.path.join(repository.path, "logs", name), encoding="utf-8") as file:
        return re.sub(r"> \d+ [+-]\d{4}\t", "> TIME\t", file.read())


def test_many_new_refs_are_packed_and_have_the_reflogs_that_git_writes(repository, tip):
    create(repository, tip, *NAMES)
    assert repository.list_refs(HEADS) == dict.fromkeys(sorted(NAMES), tip)
    assert not any(is_loose(repository, name) for name in NAMES)
    set_ref(repository, RefChange(f"{HEADS}loose/main", None, tip), "import: all")
    assert reflog(repository, NAMES[7]) == reflog(repository, f"{HEADS}loose/main")
    assert [(move.new, move.reason, move.actor) for move in walk_moves(repository, NAMES[7])] == [
        (tip, "import: all", repository.caller.actor)
    ]
    assert git(repository, "fsck", "--strict") == ""
    assert len(git(repository, "for-each-ref", HEADS).splitlines()) == len(NAMES) + 1


def test_many_new_tracking_refs_have_no_reflog_until_they_are_moved(repository, tip):
    names = [f"{REMOTES}origin/{number:040x}" for number in range(many_refs.MIN_REFS + 1)]
    assert create(repository, tip, *names, *NAMES) == {*names, *NAMES}
    assert repository.list_refs(REMOTES) == dict.fromkeys(names, tip)
    assert os.path.exists(os.path.join(repository.path, "logs", NAMES[0]))
    assert not os.path.exists(os.path.join(repository.path, "logs", REMOTES))
    newer = write_chain(repository, "one", "two")[-1]
    set_ref(repository, RefChange(names[3], tip, newer), "fetch")
    assert [(move.old, move.new, move.reason) for move in walk_moves(repository, names[3])] == [(tip, newer, "fetch")]
    others = [RefChange(name, tip, None) for name in names if name != names[3]]
    many_refs.move_many(repository, others, "undo")
    assert repository.list_refs(REMOTES) == {names[3]: newer}


def test_many_packed_refs_are_deleted_with_their_reflogs(repository, tip):
    create(repository, tip, *NAMES, f"{HEADS}kept/main")
    many_refs.move_many(repository, [RefChange(name, tip, None) for name in NAMES], "undo")
    assert repository.list_refs(HEADS) == {f"{HEADS}kept/main": tip}
    assert os.listdir(os.path.join(repository.path, "logs", HEADS)) == ["kept"]


def test_a_ref_that_exists_or_conflicts_is_left_alone(repository, tip):
    (other,) = write_chain(repository, "other")
    set_ref(repository, RefChange(NAMES[0], None, other), "before")
    set_ref(repository, RefChange(f"{HEADS}flat", None, other), "before")
    create(repository, tip, *NAMES, f"{HEADS}flat/below", f"{HEADS}conv-0")
    assert repository.list_refs(HEADS) == {
        **dict.fromkeys(NAMES, tip), NAMES[0]: other, f"{HEADS}flat": other,
    }  # fmt: skip


def test_several_refs_below_one_name_are_treated_alike(repository, tip):
    """A folder is looked at once: below a ref none is created, and elsewhere every one has its reflog."""
    set_ref(repository, RefChange(f"{HEADS}flat", None, tip), "before")
    branches = [f"{HEADS}conv-1/{branch}" for branch in ("idea", "fix/deep", "fix/other")]
    create(repository, tip, *NAMES, f"{HEADS}flat/one", f"{HEADS}flat/two", *branches)
    assert repository.list_refs(HEADS) == dict.fromkeys(sorted([*NAMES, f"{HEADS}flat", *branches]), tip)
    assert {reflog(repository, branch) for branch in branches} == {reflog(repository, NAMES[1])}


def test_what_was_created_is_returned_and_nothing_else(repository, tip):
    """The caller looks at every other ref by itself."""
    set_ref(repository, RefChange(NAMES[0], None, tip), "before")
    assert create(repository, tip, *NAMES, f"{NAMES[0]}/below") == {*NAMES[1:]}
    assert create(repository, tip, *NAMES) == set()
    deleted = [RefChange(name, tip, None) for name in NAMES]
    assert many_refs.move_many(repository, [*deleted, RefChange(f"{HEADS}new/main", None, tip)], "undo") == {
        f"{HEADS}new/main"
    }


@pytest.mark.parametrize("call", ["rename", "fsync"])
def test_if_the_disk_fails_nothing_is_returned_and_the_caller_moves_the_refs(tmp_path, monkeypatch, call):
    repository = make_store(tmp_path / "s.git", FULL)
    tip = write_chain(repository, "one")[0]

    def fail(*_):
        raise OSError(errno.EIO, "the disk failed")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        assert create(repository, tip, *NAMES) == set()
    assert repository.list_refs(HEADS) == {}


def test_a_ref_that_is_packed_but_not_synced_is_not_returned(tmp_path, monkeypatch):
    repository = make_store(tmp_path / "s.git", FULL)
    tip = write_chain(repository, "one")[0]

    def fail(*_):
        raise OSError(errno.EIO, "the directory cannot be synced")

    monkeypatch.setattr(many_refs, "sync", fail)
    assert create(repository, tip, *NAMES) == set()
    assert set(repository.list_refs(HEADS)) == {*NAMES}


def test_a_deleted_ref_must_have_the_old_value_and_no_file_of_its_own(repository, tip):
    (other,) = write_chain(repository, "other")
    create(repository, tip, *NAMES)
    set_ref(repository, RefChange(NAMES[0], tip, other), "moved")
    changes = [RefChange(name, other if name == NAMES[1] else tip, None) for name in NAMES]
    many_refs.move_many(repository, changes, "undo")
    assert repository.list_refs(HEADS) == {NAMES[0]: other, NAMES[1]: tip}


@pytest.mark.parametrize("reason", ["few", "locked", "not logged", "tags"])
def test_nothing_is_done_where_git_would_do_something_else(repository, tip, reason):
    names, packed = NAMES, os.path.join(repository.path, "packed-refs")
    if reason == "few":
        names = NAMES[:-1]
    elif reason == "locked":
        with open(f"{packed}.lock", "wb"):
            pass
    elif reason == "not logged":
        repository.git.config["core.logAllRefUpdates"] = "false"
    else:
        git(repository, "tag", "-m", "x", "annotated", tip)
        git(repository, "pack-refs", "--all")
    create(repository, tip, *names)
    assert repository.list_refs(HEADS) == {}
    assert not os.path.exists(os.path.join(repository.path, "logs", HEADS, "conv-1"))
    assert os.path.exists(f"{packed}.lock") == (reason == "locked")


def test_refs_to_other_objects_and_few_symbolic_refs_are_left_alone(repository, tip):
    blob = repository.write("blob", b"x")
    changes = [RefChange(name, None, tip) for name in NAMES]
    changes += [RefChange(f"{ACTIVE}conv-1", None, f"ref: {NAMES[1]}"), RefChange("refs/scopes/odd", None, blob)]
    many_refs.move_many(repository, changes, "import")
    assert set(repository.list_refs("refs/")) == set(NAMES)


def symbolic_changes():
    return [RefChange(f"{ACTIVE}conv-{number}", None, f"ref: {name}") for number, name in enumerate(NAMES)]


@pytest.mark.parametrize("settings", [FAST, FULL], ids=["fast", "full"])
def test_many_symbolic_refs_are_created_as_one_by_one(tmp_path, settings):
    store = make_store(tmp_path / "many.git", settings)
    identify_actor(store)
    many_refs.move_many(store, symbolic_changes(), "import")
    last = RefChange(f"{ACTIVE}last", None, f"ref: {NAMES[0]}")
    set_ref(store, last, "import")
    files = {name: read(store, f"{ACTIVE}{name}") for name in os.listdir(os.path.join(store.path, ACTIVE))}
    assert files == {f"conv-{number}": f"ref: {name}\n" for number, name in enumerate(NAMES)} | {
        "last": files["conv-0"]
    }
    modes = {os.stat(os.path.join(store.path, ACTIVE, name)).st_mode for name in files}
    assert len(modes) == 1
    assert not os.path.exists(os.path.join(store.path, "logs", ACTIVE))


def test_a_symbolic_ref_that_exists_or_conflicts_is_left_alone(repository, tip):
    set_ref(repository, RefChange(f"{ACTIVE}conv-0", None, f"ref: {NAMES[9]}"), "before")
    set_ref(repository, RefChange(f"{ACTIVE}conv-1/below", None, tip), "before")
    set_ref(repository, RefChange(f"{ACTIVE}conv-2", None, tip), "before")
    git(repository, "pack-refs", "--all")
    before = repository.list_refs(ACTIVE)
    many_refs.move_many(
        repository, [*symbolic_changes(), RefChange(f"{ACTIVE}conv-2/x", None, "ref: refs/y")], "import"
    )
    after = repository.list_refs(ACTIVE)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + len(NAMES) - 3


def test_a_locked_symbolic_ref_leaves_all_to_libgit2_and_no_lock_file_behind(repository, tip):
    """The lock may be that of a git command that runs now; `set_ref` waits for it, or finds that it is an orphan."""
    folder = os.path.join(repository.path, ACTIVE)
    os.makedirs(folder)
    with open(os.path.join(folder, "conv-7.lock"), "wb"):
        pass
    many_refs.move_many(repository, symbolic_changes(), "import")
    assert os.listdir(folder) == ["conv-7.lock"]


def test_a_disk_that_cannot_sync_leaves_all_to_libgit2(tmp_path, monkeypatch):
    store = make_store(tmp_path / "failing.git", FULL)
    identify_actor(store)
    (tip,) = write_chain(store, "one")
    monkeypatch.setattr(many_refs.os, "fsync", fail_to_sync)
    create(store, tip, *NAMES)
    many_refs.move_many(store, symbolic_changes(), "import")
    monkeypatch.undo()
    assert store.list_refs("refs/") == {}
    assert not [name for name in os.listdir(store.path) if name.endswith(".lock")]
    assert os.listdir(os.path.join(store.path, ACTIVE)) == []


def fail_to_sync(descriptor):
    raise OSError(errno.EIO, "Input/output error")


def read(store, name):
    with open(os.path.join(store.path, name), encoding="utf-8") as file:
        return file.read()
