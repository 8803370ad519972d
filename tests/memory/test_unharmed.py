"""The memory on a full disk, and under the hands of others."""

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
from tests.conversation.stores import open_store, overtake
from tests.memory.talking import say


def narrow():
    """Let this process write no file at all."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("words", [("update", "--now"), ("add", "More."), ("prune", "--max", "0"), ("done", "{}.1")])
def test_a_full_disk_changes_nothing(repository, words):
    kept = add(repository, "Kept.", agent="a", actions=["this"]).entry
    say(repository, "One.", "Two.")
    line = command_line("--store", repository.path, "memory", *(w.format(kept.id) for w in words), table=PRODUCT)
    done = subprocess.run(
        line, env=environment(), preexec_fn=narrow, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (8, ""), done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    reopened = open_store(repository.path)
    assert list_memory(reopened).entries == (kept,)
    assert [finding for finding in verify(reopened).findings if finding.level == "error"] == []
    assert len(update(reopened, at_once=True).entries) == 1


def test_what_somebody_else_adds_meanwhile_is_kept(repository):
    say(repository, "One.", "Two.", "Three.", "Four.")
    overtake(repository, lambda other: add(other, "From elsewhere.", agent="b"))
    update(repository)
    assert sorted(entry.agent for entry in list_memory(repository).entries) == ["b", "planner"]


def test_what_somebody_else_forgets_meanwhile_is_not_forgotten_twice(repository):
    for text in ("One.", "Two.", "Three."):
        add(repository, text, agent="a")
    overtake(repository, lambda other: prune(other, max_entries=1))
    assert prune(repository, max_entries=1).entries == ()
    assert len(list_memory(repository).entries) == 1


def test_a_part_that_somebody_else_remembers_meanwhile_waits_for_the_next_time(repository):
    """Of an entry that overlaps nothing is stored; what is left is new at the next update."""
    first = say(repository, "One.", "Two.")

    def act(other):
        update(other, at_once=True)

    overtake(repository, act)
    assert update(repository, at_once=True).entries == ()
    (entry,) = list_memory(repository).entries
    assert entry.sources.messages == tuple(first)
    (later,) = say(repository, "Three.")
    assert update(repository, at_once=True).entries[0].sources.messages == (later,)
