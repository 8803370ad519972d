"""A text that is made of messages without the lock is not stored if something of them was purged meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.errors import Busy
from scopes.memory import summarize as summarize_module
from scopes.memory.entry_builder import EntryBuilder
from scopes.memory.store import Memory
from scopes.memory.summarize import summarize
from scopes.memory.update import update
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.store import open_store

WORDS = SimpleNamespace(count=lambda text: len(text.split()), prepare=lambda texts: None, method="estimate")
WORD = "Xylophone-Quarantine-4711"


@pytest.fixture(params=["message", "conversation"])
def request_of(request, repository):
    """Make two conversations; return what to purge of the first one."""
    made = history(repository, "main: a")
    message = say(repository, made.conversation, f"We decided that {WORD} is the code of the north door.")
    other = history(repository, "main: b").conversation
    say(repository, other, "We decided to use SQLite for the shop.")
    if request.param == "conversation":
        return PurgeRequest((made.conversation,))
    return PurgeRequest(conversation=made.conversation, messages=(message.id,))


def purge_after(monkeypatch, owner, name, repository, request, places):
    """Purge in another open store when a function of an owner has returned for the first time."""
    original, waiting = getattr(owner, name), [request]

    def wrapped(*words, **options):
        made = original(*words, **options)
        for each in [waiting.pop()] if waiting else []:
            assert purge(open_store(repository.path), each, places).left == ()
        return made

    monkeypatch.setattr(owner, name, wrapped)


def test_a_memory_entry(repository, places, monkeypatch, request_of):
    purge_after(monkeypatch, EntryBuilder, "build", repository, request_of, places)
    done = update(repository, at_once=True, built_in=True)
    assert [entry.conversation for entry in Memory(repository).entries] == ["conv-002"]
    assert [note.text for note in done.notes] == [
        "something of conv-001/main was purged meanwhile: no entry of it was stored"
    ]
    assert find_word(WORD, repository.path) == []


@pytest.mark.parametrize("compact", [False, True])
def test_a_summary(repository, places, monkeypatch, request_of, compact):
    purge_after(monkeypatch, summarize_module, "_write", repository, request_of, places)
    with pytest.raises(Busy, match="purged meanwhile"):
        summarize(repository, "conv-001", WORDS, built_in=True, include_all=True, compact=compact)
    assert find_word(WORD, repository.path) == []
