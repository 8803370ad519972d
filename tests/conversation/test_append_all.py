"""Appending several messages at once: all or none, whenever the process dies, and never mixed with other writers."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys

import pytest

from scopes.clock import now
from scopes.conversation import append as append_module
from scopes.conversation.append import append, append_all
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import delete_branch, new
from scopes.conversation.undo import undo
from scopes.errors import Inaccessible, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.model.message import encode
from scopes.model.validation import check_message
from tests.support.examples import sample
from tests.support.store import assert_sound, make_store, open_store

FEW, IN_A_PACK = 3, append_module._IN_ONE_PACK + 5
DIED = 9


def texts(store, branch="main"):
    """Return the texts of a branch, oldest first, without the first message of the conversation."""
    repository = open_store(store)
    tip = list_branch_tips(repository, "conv-001")[branch]
    found = [read_message(repository, head.oid).text for head in walk_headers_oldest_first(repository, [tip])]
    return [text for text in found if text]


def message(text):
    """Return a message whose id depends on its text alone: processes that were forked draw equal ids."""
    name = base64.b32encode(hashlib.sha256(text.encode()).digest()[:16]).decode().lower().rstrip("=")
    return check_message({"author": "carol", "text": text}, message_id=name, now=now())


def clone(store, path):
    """Copy a store and return its path."""
    return str(shutil.copytree(store, path))


def group(name, size=FEW):
    return [f"{name}/{number}" for number in range(size)]


def append_group(store, names, branch="main"):
    """Append texts as one operation, as a new process would."""
    target = StoreHandle(open_store(store)).conversation("conv-001").branch(branch)
    return append_all(target, [message(text) for text in names])


@pytest.fixture
def store(tmp_path):
    """Make a store whose conversation has one message."""
    repository = make_store(tmp_path / "store.git")
    new(repository)
    append(repository, "conv-001", message("before"))
    repository.close()
    return str(tmp_path / "store.git")


def fork(action):
    """Run an action in a child process that never returns into the frames of this one; return its id."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    return pid


def wait_for(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def count_calls(limit=None):
    """Count the calls of functions from now on; end this process without any clean-up at the call after the limit."""
    counted = [0]

    def watch(frame, event, argument):
        counted[0] += event in ("call", "c_call")
        if limit is not None and counted[0] > limit:
            os._exit(DIED)

    sys.setprofile(watch)
    return counted


@pytest.mark.parametrize("size", [FEW, IN_A_PACK], ids=["loose objects", "one pack"])
def test_a_writer_that_dies_at_any_moment_has_stored_all_or_nothing(store, tmp_path, size):
    """S4-52: and the next writer needs no repair. A moment is a call of a function, in Python or in C."""
    many = group("many", size)

    def write(copy, limit):
        counted = count_calls(limit)
        append_group(copy, many)
        sys.setprofile(None)
        (tmp_path / "calls").write_text(str(counted[0]))

    assert wait_for(fork(lambda: write(clone(store, tmp_path / "whole.git"), None))) == 0
    calls = int((tmp_path / "calls").read_text())
    seen = set()
    late = sample(range(calls - 400, calls, 19), 4)  # the refs move at the end
    for limit in sorted({*sample(range(0, calls, calls // 10), 2), *late}):
        copy = clone(store, tmp_path / f"{limit}.git")
        assert wait_for(fork(lambda: write(copy, limit))) in (DIED, 0)  # noqa: B023
        found = texts(copy)
        assert found in (["before"], ["before", *many]), limit
        append_group(copy, ["next"])
        after = texts(copy)
        assert after in (["before", "next"], ["before", *many, "next"]), limit
        assert len(after) > len(found)
        if limit % 7 == 0:
            assert_sound(copy)
        seen.add(len(found))
        shutil.rmtree(copy)
    assert seen == {1, size + 1}


def test_groups_of_several_writers_are_never_mixed(store):
    """A group waits for the exclusive lock; a single message that came between two groups stays between them."""

    def write_groups(name):
        for turn in range(6):
            append_group(store, group(f"{name}{turn}"))

    def write_messages():
        for turn in range(12):
            append(open_store(store), "conv-001", message(f"single/{turn}"))

    pids = [fork(lambda: write_groups("x")), fork(lambda: write_groups("y")), fork(write_messages)]
    assert [wait_for(pid) for pid in pids] == [0, 0, 0]
    found = texts(store)
    for name in ("x", "y"):
        assert [text for text in found if text.startswith(name)] == [
            text for turn in range(6) for text in group(f"{name}{turn}")
        ]
    assert [text for text in found if text.startswith("single")] == [f"single/{turn}" for turn in range(12)]
    for first in [text for text in found if text.startswith(("x", "y")) and text.endswith("/0")]:
        at = found.index(first)
        assert found[at : at + FEW] == group(first.removesuffix("/0"))
    assert len(found) == 1 + 2 * 6 * FEW + 12
    assert_sound(store)


def test_a_message_that_was_stored_before_the_lock_was_free_comes_before_the_group(store):
    """The tip is read only under the lock: a group is never built on an old one."""
    repository = open_store(store)
    target = StoreHandle(repository).conversation("conv-001").branch("main")
    append(open_store(store), "conv-001", message("faster"))
    append_all(target, [message(text) for text in group("slow")])
    assert texts(store) == ["before", "faster", *group("slow")]


@pytest.mark.parametrize("size", [FEW, IN_A_PACK])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_message_that_cannot_be_written_leaves_none_of_its_group(store, monkeypatch, size, at):
    original, failing = append_module._write, group("many", size)[at]

    def write(objects, base, given, *arguments):
        if given.text == failing:
            raise Inaccessible("cannot write new objects: No space left on device", hint="free some space")
        return original(objects, base, given, *arguments)

    monkeypatch.setattr(append_module, "_write", write)
    before = open_store(store).list_refs()
    with pytest.raises(Inaccessible, match="No space left"):
        append_group(store, group("many", size))
    assert open_store(store).list_refs() == before
    packs = os.path.join(store, "objects", "pack")
    assert not os.path.isdir(packs) or os.listdir(packs) == []
    monkeypatch.undo()
    append_group(store, group("again", size))
    assert texts(store) == ["before", *group("again", size)]


@pytest.mark.parametrize("size", [1, FEW, IN_A_PACK])
def test_undo_takes_a_group_back_as_a_whole(store, size):
    append_group(store, group("many", size))
    undo(open_store(store))
    assert texts(store) == ["before"]
    assert_sound(store)


def test_a_group_and_single_messages_make_the_same_commits(store, tmp_path):
    """The way of storing is no part of a message: objects in a pack, or alone."""
    copies = [clone(store, tmp_path / f"copy{number}.git") for number in range(2)]
    messages = [message(text) for text in group("many", IN_A_PACK)]
    append_all(StoreHandle(open_store(copies[0])).conversation("conv-001").branch("main"), messages)
    repository = open_store(copies[1])
    for each in messages:
        append(repository, "conv-001", each)
    tips = [list_branch_tips(open_store(copy), "conv-001") for copy in copies]
    assert tips[0] == tips[1]


def test_an_empty_group_is_no_operation(store):
    before = open_store(store).list_refs()
    assert append_group(store, []) == []
    assert open_store(store).list_refs() == before


def test_a_group_for_a_branch_that_was_deleted_meanwhile_stores_nothing(store):
    repository = open_store(store)
    branch(repository, "conv-001", name="gone", switch=False)
    target = StoreHandle(repository).conversation("conv-001").branch("gone")
    delete_branch(open_store(store), "conv-001", "gone", force=True)
    before = open_store(store).list_refs()
    with pytest.raises(NotFound):
        append_all(target, [message(text) for text in group("late")])
    assert open_store(store).list_refs() == before


@pytest.mark.parametrize("size", [FEW, IN_A_PACK])
def test_messages_are_encoded_once(store, monkeypatch, size):
    """What is searched for secrets is what is stored."""
    calls = []
    monkeypatch.setattr(append_module, "encode", lambda message: calls.append(1) or encode(message))
    append_group(store, group("a", size))
    assert len(calls) == size
    assert texts(store)[-size:] == group("a", size)
