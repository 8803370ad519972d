"""What came from a remote is checked by several processes, with the same outcome as by one."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from scopes.errors import Corrupt
from scopes.sync import shared_work
from scopes.sync.format_check import FormatCheck
from scopes.sync.local_conversations import list_roots
from scopes.sync.shared_work import work_in_parts
from tests.support.forged_remotes import Forger
from tests.support.history import history
from tests.support.recalled import recalled
from tests.support.remotes import clone_to, fetch_from, machine, push_to
from tests.support.store import assert_sound, open_store

NUMBERS = list(range(10))


@pytest.fixture(autouse=True)
def workers(monkeypatch):
    """Two workers, however few objects there are, and whatever threads the tests before have left."""
    before = threading.active_count()
    monkeypatch.setattr(shared_work, "_has_threads", lambda: threading.active_count() > before)
    monkeypatch.setattr(shared_work, "MANY_OBJECTS", 2)
    monkeypatch.setattr(shared_work, "_count_workers", lambda _repository: 2)


@pytest.fixture
@recalled
def remote(ours, bare):
    """A remote with several conversations."""
    for number in range(2):
        history(ours, f"main: a{number} b{number}", f"idea@a{number}: c{number}")
    push_to(ours)
    return bare


def where(numbers):
    """Return the numbers and the process that was given them."""
    return list(numbers), os.getpid()


def test_parts_are_done_in_other_processes_and_come_in_their_order(repository):
    found = work_in_parts(repository, where, NUMBERS, objects=2)
    assert [number for part, _ in found for number in part] == NUMBERS
    assert len(found) > 2
    assert os.getpid() not in {process for _, process in found}


@pytest.mark.parametrize(("items", "objects"), [(NUMBERS, 1), (NUMBERS[:1], 2), ([], 2)])
def test_of_few_objects_or_one_item_all_is_done_here(repository, items, objects):
    assert work_in_parts(repository, where, items, objects=objects) == [(items, os.getpid())]


def test_a_process_with_threads_is_not_forked(repository):
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert work_in_parts(repository, where, NUMBERS, objects=2) == [(NUMBERS, os.getpid())]
    finally:
        ended.set()
        thread.join()


def test_what_a_part_raises_is_raised(repository):
    def fail(numbers):
        raise Corrupt(f"{len(numbers)} are bad", hint="see")

    with pytest.raises(Corrupt, match="are bad") as caught:
        work_in_parts(repository, fail, NUMBERS, objects=2)
    assert caught.value.hint == "see"


def test_if_a_process_is_killed_all_is_done_here(repository):
    here = os.getpid()

    def die(numbers):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return where(numbers)

    assert work_in_parts(repository, die, NUMBERS, objects=2) == [(NUMBERS, here)]


@pytest.mark.slow
def test_a_clone_that_processes_check_has_everything(ours, remote, tmp_path):
    cloned = clone_to(tmp_path / "other", remote)
    other = open_store(tmp_path / "other")
    assert [row.status for row in cloned.fetched.conversations] == ["new"] * 3
    assert list_roots(other).keys() == list_roots(ours).keys()
    tips = [{*store.list_refs("refs/heads/").values()} for store in (ours, other)]
    assert tips[0] == tips[1]
    assert_sound(other)


@pytest.mark.slow
def test_an_object_that_no_process_has_found_in_a_conversation_is_refused(remote, tmp_path, monkeypatch):
    """What each process has found is what counts: without it every object would be too much."""
    monkeypatch.setattr(FormatCheck, "visit", lambda *_: None)
    with pytest.raises(Corrupt, match="belongs to no conversation"):
        clone_to(tmp_path / "other", remote)


def test_a_bad_conversation_is_left_out_by_the_process_that_finds_it(remote, tmp_path):
    forger = Forger(remote)
    forger.publish(meta=forger.meta_tree(b"evil"))
    fetched = fetch_from(machine(tmp_path / "victim", remote))
    bad = [row for row in fetched.conversations if row.status == "unacceptable"]
    assert [(row.root, row.conversation) for row in bad] == [(forger.root, None)]
    assert len(fetched.conversations) == 3
