"""A push, fetch or clone that is killed at any step leaves stores that are whole, and the next one completes it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from scopes.conversation.store import gc
from scopes.conversation.verify import verify
from scopes.store import locks
from scopes.store.git_program import QUARANTINE_PREFIX, open_quarantine
from scopes.store.transactions import list_leftovers
from tests.support.examples import sample
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import clone_to, fetch_from, machine, push_to
from tests.support.snapshot import remove_tree, take_snapshot
from tests.support.store import Process, assert_sound, git, open_store, refs, run

# A killed process: the N-th call of one of the functions that change something ends it.
KILLED = """
import os, signal
from scopes.store import git_program as quarantine, transactions
from scopes.sync import fetch, git_transport, second_check, format_check
from tests.support import remotes
store, act, left = open_store(path), sys.argv[2], [int(sys.argv[3])]

def ends_here(owner, name):
    original = getattr(owner, name)
    def wrapped(*words, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*words, **options)
    setattr(owner, name, wrapped)

for name in ("mkdir", "makedirs", "link", "rename", "unlink", "fsync", "rmdir", "open"):
    ends_here(os, name)
ends_here(git_transport, "start_limited")
ends_here(second_check, "run_limited")
getattr(remotes, act)(store)
print("done", left[0])
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Take what a killed process has left for an orphan after a tenth of a second, in place of one."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.1)


def kill_at(store, act, step):
    """Run a command of another process and kill it at a step; return the steps that were left, None if it was killed."""
    process = Process(KILLED, store.path, act, step)
    out, err = process.popen.communicate(timeout=60)
    assert process.popen.returncode in {0, -9}, err
    return int(out.split()[1]) if process.popen.returncode == 0 else None


def steps_to_try(store, act):
    """Run a command to its end, and return some of its steps, spread over all: every one in a thorough run."""
    total = 100_000 - kill_at(store, act, 100_000)
    assert total > 50
    return sample(range(1, total + 1), 5)


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which knows the remote; something is new for it."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    say(ours, "conv-001/main", "news")
    history(ours, "main: x")
    push_to(ours)
    return other


def test_a_fetch_that_is_killed_is_done_whole_or_not_at_all(theirs, tmp_path):
    snapshot, before = take_snapshot(theirs.path), refs(theirs)
    steps = steps_to_try(theirs, "fetch_from")
    after = refs(open_store(theirs))
    for number, step in enumerate(steps):
        path = str(tmp_path / f"try{number}")
        snapshot.write(path)
        assert kill_at(open_store(path), "fetch_from", step) is None
        assert refs(open_store(path)) in (before, after)
        fetch_from(open_store(path))
        again = open_store(path)
        assert refs(again) == after
        assert verify(again).sound
        assert not [name for name in os.listdir(path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_push_that_is_killed_is_completed_by_the_next_one(ours, bare, tmp_path):
    snapshot, remote = take_snapshot(ours.path), take_snapshot(bare)
    steps = steps_to_try(ours, "push_to")
    wanted = git(bare, "for-each-ref")
    for number, step in enumerate(steps):
        path = str(tmp_path / f"try{number}")
        snapshot.write(path)
        remove_tree(bare)
        remote.write(bare)
        assert kill_at(open_store(path), "push_to", step) is None
        assert push_to(open_store(path)).exit_code == 0
        assert git(bare, "for-each-ref") == wanted
        assert push_to(open_store(path)).unchanged == 1
        assert_sound(path)


def test_a_fetch_that_is_killed_while_git_runs_leaves_the_store_usable(theirs, tmp_path, monkeypatch):
    script = tmp_path / "slow-git"
    script.mkdir()
    (script / "git").write_text('#!/bin/sh\ncase " $* " in *" fetch "*) sleep 0.7;; esac\nexec /usr/bin/git "$@"\n')
    (script / "git").chmod(0o755)
    before = refs(theirs)
    code = "from tests.support.remotes import fetch_from\nprint('go', flush=True)\nfetch_from(open_store(path))"
    process = Process(code, theirs.path, env={"PATH": f"{script}:{os.environ['PATH']}"})
    process.read_line()
    while not [name for name in os.listdir(theirs.path) if name.startswith(QUARANTINE_PREFIX)]:
        time.sleep(0.01)
    process.kill()
    assert refs(open_store(theirs)) == before
    say(theirs, "conv-001/fix", "goes on")
    wait_until_abandoned(theirs)
    assert len(fetch_from(theirs).conversations) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
@pytest.mark.slow
def test_a_fetch_that_is_ended_by_a_signal_leaves_nothing(theirs, tmp_path, number):
    pid = tmp_path / "pid"
    (tmp_path / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 60;; esac\n'
        'exec /usr/bin/git "$@"\n'
    )
    (tmp_path / "git").chmod(0o755)
    code = f"""
import signal; signal.signal({int(number)}, signal.SIG_DFL)
from tests.support.remotes import fetch_from; fetch_from(open_store(path))"""
    process = Process(code, theirs.path, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    while not pid.exists():
        time.sleep(0.01)
    time.sleep(0.5)  # until the process waits for git: in the start of a child a signal comes too early to end it
    os.kill(process.popen.pid, number)
    _, err = process.popen.communicate(timeout=30)
    assert (process.popen.returncode, err) == (-number, "")
    assert not [name for name in os.listdir(theirs.path) if name.startswith(QUARANTINE_PREFIX)]
    with pytest.raises(ProcessLookupError):  # git has ended, too
        os.kill(int(pid.read_text()), 0)


def wait_until_abandoned(store):
    """Wait until a git that outlived its process has ended."""
    deadline = time.monotonic() + 30
    while not any(QUARANTINE_PREFIX in name for name in list_leftovers(store)) and time.monotonic() < deadline:
        time.sleep(0.05)


def test_a_quarantine_in_use_is_no_leftover(repository):
    with open_quarantine(repository.path, {}) as quarantine:
        assert not any(QUARANTINE_PREFIX in name for name in list_leftovers(repository))
        gc(repository)
        assert os.path.isdir(quarantine.pack_directory)
    assert not os.path.exists(quarantine.path)


def test_gc_removes_a_quarantine_whose_process_has_ended(ours):
    code = (
        "import os\nfrom scopes.store.git_program import open_quarantine\nwith open_quarantine(path, {}): os._exit(0)"
    )
    run(code, ours.path)
    assert [name for name in list_leftovers(ours) if name.startswith(QUARANTINE_PREFIX)]
    gc(ours)
    assert not [name for name in os.listdir(ours.path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_clone_that_was_killed_is_completed_by_the_next_one(ours, bare, tmp_path):
    push_to(ours)
    path = tmp_path / "clone"
    code = f"""
import os
from tests.support import remotes
from scopes.sync import clone
clone.fetch = lambda *_, **__: os._exit(0)
remotes.clone_to(path, {bare!r})
"""
    run(code, path)
    assert path.exists()
    assert [row.status for row in clone_to(path, bare).fetched.conversations] == ["new"]
