"""The memory on a full disk, and with concurrent writers."""

from __future__ import annotations

import resource
import signal
import subprocess

import pytest

from scopes.conversation.verify import verify
from scopes.memory.add import add
from scopes.memory.list import list_memory
from scopes.memory.prune import prune
from scopes.memory.update import update
from tests.cli.running import PRODUCT, command_line, environment
from tests.memory.talking import say
from tests.support.store import open_store, overtake


def forbid_writes():
    """Set the file size limit of this process to zero."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("words", [("update", "--now"), ("add", "More."), ("prune", "--max", "0"), ("done", "{}.1")])
def test_a_full_disk_changes_nothing(repository, words):
    kept = add(repository, "Kept.", agent="a", actions=["this"]).entry
    say(repository, "One.", "Two.")
    line = command_line("--store", repository.path, "memory", *(w.format(kept.id) for w in words), table=PRODUCT)
    done = subprocess.run(
        line, env=environment(), preexec_fn=forbid_writes, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (8, ""), done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    reopened = open_store(repository.path)
    assert list_memory(reopened).entries == (kept,)
    assert [finding for finding in verify(reopened).findings if finding.level == "error"] == []
    assert len(update(reopened, at_once=True).entries) == 1


def test_an_entry_added_concurrently_is_kept(repository):
    say(repository, "One.", "Two.", "Three.", "Four.")
    overtake(repository, lambda other: add(other, "From elsewhere.", agent="b"))
    update(repository)
    assert sorted(entry.agent for entry in list_memory(repository).entries) == ["b", "planner"]


def test_an_entry_pruned_concurrently_is_not_pruned_twice(repository):
    for text in ("One.", "Two.", "Three."):
        add(repository, text, agent="a")
    overtake(repository, lambda other: prune(other, max_entries=1))
    assert prune(repository, max_entries=1).removed == ()
    assert len(list_memory(repository).entries) == 1


def test_messages_covered_concurrently_are_not_covered_twice(repository):
    """An entry that overlaps is not stored; its other messages are new at the next update."""
    first = say(repository, "One.", "Two.")

    def act(other):
        update(other, at_once=True)

    overtake(repository, act)
    assert update(repository, at_once=True).entries == ()
    (entry,) = list_memory(repository).entries
    assert entry.sources.messages == tuple(first)
    (later,) = say(repository, "Three.")
    assert update(repository, at_once=True).entries[0].sources.messages == (later,)
