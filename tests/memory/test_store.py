"""The memory's ref with content by plain git, other programs or accidents."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.verify import verify
from scopes.errors import NotFound, ScopesError
from scopes.memory.actions import done, list_actions
from scopes.memory.add import add
from scopes.memory.context import context
from scopes.memory.entry import decode_entry, encode_entry
from scopes.memory.list import list_memory, show_memory
from scopes.memory.prune import prune
from scopes.memory.search import search
from scopes.memory.stats import stats
from scopes.memory.store import Memory, change_memory, entry_change, removal
from scopes.memory.update import update
from scopes.store.transactions import exclusive_write
from tests.memory.talking import say
from tests.support.examples import examples
from tests.support.store import git

TIMES = (
    "2026-01-01T00:00:00Z", "2026-01-01T01:30:00+01:00", "2025-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.000001Z",
    "1969-12-31T23:00:00Z", "whenever", "2026-01-31T10:00:00.5Z", "2026-02-01", "9999-12-31T23:59:59Z",
)  # fmt: skip
MINIMAL = {"id": "k3x9", "agent": "a", "summary": "s", "timestamp": "2026-01-01T00:00:00Z"}


def put(repository, path, content):
    """Commit a file with any content to the memory's ref."""
    with exclusive_write(repository):
        change_memory(repository, Memory(repository), {path: content}, "foreign")


DAMAGED = [
    b"", b"{", b"\xff\xfe", b"[]", b'{"id": 1}', json.dumps(MINIMAL | {"id": "other"}).encode(),
    json.dumps(MINIMAL | {"id": "../../x"}).encode(), b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_file_that_is_not_an_entry_is_noted_and_kept(repository, content):
    kept = add(repository, "Kept.", agent="a").entry
    put(repository, "entries/k3x9.json", content)
    listed = list_memory(repository)
    assert [entry.id for entry in listed.entries] == [kept.id]
    assert [note.text for note in listed.notes] == [
        "in the memory, 1 file is not an entry and was ignored: entries/k3x9.json"
    ]
    add(repository, "More.", agent="a")
    prune(repository, max_entries=0)
    assert "entries/k3x9.json" in git(repository, "ls-tree", "-r", "--name-only", "refs/scopes/memory")
    assert stats(repository).total == 0


def test_every_reading_command_notes_files_that_are_not_entries(repository):
    for number in range(5):
        put(repository, f"entries/bad{number}.json", b"{}")
    add(repository, "Kept.", agent="a", actions=["this"])
    found = [
        list_memory(repository), search(repository, "kept"), context(repository),
        stats(repository), list_actions(repository), prune(repository, max_entries=9),
    ]  # fmt: skip
    text = "in the memory, 5 files are not entries and were ignored: entries/bad0.json, entries/bad1.json, entries/bad2.json, ..."
    assert [[note.text for note in result.notes] for result in found] == [[text]] * 6


def test_only_the_newest_entries_are_read(repository):
    """However many entries there are."""
    put(repository, "entries/2000-01/01T000000.000000000-old.json", b"{}")
    newest = [add(repository, f"entry {number}", agent="a").entry for number in range(3)][-1]
    listed = list_memory(repository, limit=3)
    assert (listed.entries[0], len(listed.entries), listed.notes) == (newest, 3, ())
    assert context(repository, limit=3).notes == ()
    assert show_memory(repository, newest.id[:8]).notes == ()
    assert len(list_memory(repository).notes) == 1


@given(st.lists(st.tuples(st.sampled_from(TIMES), st.booleans()), max_size=12))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_entries_are_ordered_by_time_whatever_their_path(repository, times):
    """Other programs use other paths and other time formats."""
    entries = [
        decode_entry(json.dumps(MINIMAL | {"id": f"e{n}", "timestamp": t}).encode()) for n, (t, _) in enumerate(times)
    ]
    changes = {path: None for entry in list_memory(repository).entries for path in removal(entry)}
    for entry, (_, flat) in zip(entries, times, strict=True):
        changes |= {f"entries/{entry.id}.json": encode_entry(entry)} if flat else entry_change(entry)
    with exclusive_write(repository):
        change_memory(repository, Memory(repository), changes, "order")
    assert list(list_memory(repository).entries) == sorted(entries, key=lambda e: e.age_key, reverse=True)


def test_other_files_and_directories_are_ignored(repository):
    say(repository, "One.", "Two.", "Three.", "Four.")
    for path in ("README", "covered/stray", "covered/u/main", "entries/deep/x.json"):
        put(repository, path, b"no commit")
    assert len(update(repository).entries) == 1
    assert git(repository, "show", "refs/scopes/memory:README") == "no commit"
    assert [finding for finding in verify(repository).findings if finding.level == "error"] == []


def test_an_entry_of_another_program_is_read_and_its_items_get_ids(repository):
    """S0-13: clamped on import."""
    items = [{"id": "1", "text": "rotate the keys"}, {"id": "x"}, "none"]
    put(repository, "entries/k3x9.json", json.dumps(MINIMAL | {"action_items": items, "importance": 99}).encode())
    (entry,) = list_memory(repository).entries
    assert entry.importance == 10
    assert done(repository, "k3x9.1").item.text == "rotate the keys"


@pytest.mark.parametrize("target", ["blob", "tree", "missing"])
def test_a_ref_to_something_other_than_a_commit_is_refused(repository, target):
    add(repository, "Kept.", agent="a")
    oid = {
        "blob": lambda: git(repository, "rev-parse", "refs/scopes/memory^{tree}").strip(),
        "tree": lambda: git(repository, "rev-parse", "refs/scopes/memory:entries").strip(),
        "missing": lambda: "1" * 40,
    }[target]()
    with open(f"{repository.path}/refs/scopes/memory", "w", encoding="ascii") as file:
        file.write(f"{oid}\n")
    with pytest.raises(ScopesError) as error:
        tuple(Memory(repository).walk())
    assert "\n" not in error.value.message


def test_an_empty_prefix_matches_no_entry(repository):
    add(repository, "Kept.", agent="a")
    with pytest.raises(NotFound):
        show_memory(repository, "")
