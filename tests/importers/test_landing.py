"""Where what comes in stands, when branches of the user's own are in the way of its names."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append, plain_message
from scopes.conversation.branch import branch
from scopes.conversation.lookup import branch_tips
from scopes.conversation.metadata import read_metadata
from scopes.conversation.rename import rename_branch
from scopes.conversation.verify import verify
from tests.importers.stores import bring, new_store, words
from tests.importers.toy import line, write


@pytest.fixture
def repository(tmp_path):
    """A store that a session of two messages was brought into."""
    store = new_store(tmp_path / "store.git")
    bring(store, write(tmp_path / "a.jsonl", *line("s1", "a b")))
    return store


def others(repository):
    """Return the names of all branches but main."""
    return sorted(set(branch_tips(repository, "conv-001")) - {"main"})


@pytest.mark.parametrize("name", ["fork", "Fork", "FORK/mine"])
def test_a_fork_is_called_otherwise_where_a_branch_of_the_user_is_in_the_way(repository, tmp_path, name):
    """Equal on file systems that fold letters, or a file and a directory at once."""
    branch(repository, "conv-001", name=name)
    done = bring(repository, write(tmp_path / "a.jsonl", *line("s1", "a b c d<b e")))
    (found,) = set(others(repository)) - {name}
    assert (words(repository), words(repository, found), found[:5]) == ("a b d e", "a b c", "fork-")
    assert [note.text for note in done.notes if name in note.text and found in note.text] != []
    assert read_metadata(repository, "conv-001").branches[found].parent == "main"
    assert verify(repository).findings == ()


def test_a_fork_that_is_called_otherwise_grows_under_that_name(repository, tmp_path):
    """Also once nothing is in the way any more."""
    branch(repository, "conv-001", name="fork")
    bring(repository, write(tmp_path / "a.jsonl", *line("s1", "a b c<b d<b e")))
    before = others(repository)
    longer = write(tmp_path / "a.jsonl", *line("s1", "a b c<b x<c y d<b e"))
    assert (bring(repository, longer).notes, others(repository)) == ((), before)
    rename_branch(repository, "conv-001", "fork", "mine")
    longer = write(tmp_path / "a.jsonl", *line("s1", "a b c<b x<c y z w d<b e"))
    bring(repository, longer)
    assert [words(repository, name) for name in others(repository) if name.startswith("fork-")] == ["a b c x y z w"]


def test_names_for_what_was_moved_and_for_what_vanished_give_way_too(repository, tmp_path):
    """A branch `import`, a branch `abandoned`."""
    for name in ("import", "abandoned"):
        branch(repository, "conv-001", name=name)
    append(repository, "conv-001", plain_message("carol", "mine"), branch="main")
    bring(repository, write(tmp_path / "a.jsonl", *line("s1", "a b c")))
    bring(repository, write(tmp_path / "a.jsonl", *line("s1", "x y z")))
    bring(repository, write(tmp_path / "a.jsonl", *line("s1", "p q")))
    found = set(others(repository)) - {"import", "abandoned"}
    assert {name.partition("-")[0] for name in found} <= {"import", "abandoned"}
    assert {words(repository, name) for name in found} == {"a b c", "x y z", "p q"}
    assert words(repository) == "a b mine"
