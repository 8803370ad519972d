"""The last message of an imported session may grow after it was pushed."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.history.names import list_branch_tips
from scopes.sync.grown_tips import find_grown
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.examples import examples
from tests.support.history import say, texts
from tests.support.remotes import add, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import git

OLD = 1_700_000_000
EARLY = "2023-01-01T00:00:00Z"


def import_words(store, directory, words, *, age=OLD):
    """Import a session with these words; its file has this time."""
    records = [{**record, "time": EARLY} for record in session_records("s1", words, created=EARLY)]
    source = write_transcript(directory / "session.jsonl", *records)
    if age is not None:
        os.utime(directory / "session.jsonl", (age, age))
    return import_demo(store, source)


def pull_to(store, **options):
    return pull(store, resolve_remote(store, None), Selection(), connection(), **options)


def main_of(store):
    return list_branch_tips(store, "conv-001")["main"]


@pytest.fixture
def alice(repository, bare):
    add(repository, bare)
    return repository


@pytest.fixture
def bob(bare, tmp_path):
    return machine(tmp_path / "bob", bare, "bob")


def test_a_first_push_sends_the_last_message_of_a_session_that_still_grows(alice, tmp_path):
    import_words(alice, tmp_path, "a b", age=None)
    pushed = push_to(alice)
    assert ([row.messages for row in pushed.conversations], pushed.notes) == ([2], ())


def test_a_session_that_grows_after_it_was_sent_replaces_its_last_message_everywhere(alice, bob, bare, tmp_path):
    import_words(alice, tmp_path, "a b")
    push_to(alice)
    fetch_from(bob)
    earlier = main_of(bob)
    import_words(alice, tmp_path, "a b c")
    pushed = push_to(alice)
    assert ([row.diverged for row in pushed.conversations], pushed.exit_code) == ([()], 0)
    assert [branch.state for row in fetch_from(bob).conversations for branch in row.branches] == ["grown"]
    assert main_of(bob) == main_of(alice)
    assert texts(bob, "conv-001") == ["say a", "say b", "say c"]
    assert earlier in git(bare, "rev-list", "--all")
    assert push_to(bob).unchanged == 1


def test_an_earlier_import_does_not_replace_a_later_one(alice, bob, tmp_path):
    import_words(bob, tmp_path, "a b")
    import_words(alice, tmp_path, "a b c")
    push_to(alice)
    pushed = push_to(bob)
    assert pushed.exit_code == 0
    fetch_from(bob)
    assert main_of(bob) == main_of(alice)
    assert fetch_from(alice).conversations == ()


@pytest.mark.slow
def test_what_others_wrote_after_an_open_message_is_merged_with_a_longer_one(alice, bob, tmp_path):
    import_words(alice, tmp_path, "a b")
    push_to(alice)
    fetch_from(bob)
    say(bob, "conv-001", "from bob")
    push_to(bob)
    import_words(alice, tmp_path, "a b c")
    assert push_to(alice).exit_code == 1
    assert [row.state for row in pull_to(alice).branches] == ["merged"]
    push_to(alice)
    pull_to(bob)
    assert main_of(bob) == main_of(alice)
    assert {"say b", "say c", "from bob"} <= set(texts(alice, "conv-001"))


def test_every_order_of_joins_ends_at_the_same_import(repository, tmp_path):
    tips = []
    for words in ("a b", "a b c", "a b c d", "a b c d e"):
        import_words(repository, tmp_path, words)
        tips.append(main_of(repository))
    for order in permutations(tips):
        current = order[0]
        for tip in order[1:]:
            side = find_grown(repository, current, tip) if tip != current else "ours"
            assert side is not None
            current = tip if side == "theirs" else current
        assert current == tips[-1]


ACTIONS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(("import", "import", "push", "fetch", "pull"))),
    min_size=3,
    max_size=10,
)


@pytest.mark.slow
@given(ACTIONS)
@settings(max_examples=examples(60), deadline=None)
def test_machines_that_import_cuts_of_one_session_in_any_order_end_equal(actions):
    """P18: whoever imports, pushes and fetches first, all have the longest import, and nothing was to be merged."""
    directory = Path(tempfile.mkdtemp())
    try:
        bare = make_bare(directory / "bare.git")
        stores = [machine(directory / str(number), bare) for number in range(3)]
        cut = 1
        for number, action in [
            (0, "import"),
            *actions,
            *((n, a) for _ in "12" for n in range(3) for a in ("pull", "push")),
        ]:
            if action == "import":
                cut += 1
                import_words(stores[number], directory, " ".join("abcdefghijklm"[:cut]))
            elif action == "push":
                assert {each.status for each in push_to(stores[number]).conversations} <= {"new", "updated"}
            elif action == "fetch":
                fetch_from(stores[number])
            else:
                assert [row.state for row in pull_to(stores[number]).branches] == []
        for store in stores:
            fetch_from(store)
        tips = [list_branch_tips(store, "conv-001") for store in stores]
        assert tips[0] == tips[1] == tips[2]
        longest = max(tips[0], key=lambda name: len(texts(stores[0], f"conv-001/{name}")))
        assert len(texts(stores[0], f"conv-001/{longest}")) == cut
    finally:
        shutil.rmtree(directory)
