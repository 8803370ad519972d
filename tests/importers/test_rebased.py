"""A rebased imported branch belongs to the user; new messages of its source go to an `import/` branch."""

from __future__ import annotations

import pytest

from scopes.conversation.rebase import Replayed, rebase
from scopes.conversation.undo import undo
from scopes.history.names import list_branch_tips
from scopes.history.sources import TRACKING
from scopes.importers.import_sources import import_sources
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.history import texts


@pytest.fixture(autouse=True)
def imported(repository, tmp_path):
    """Import a session with two branches after b: f on main, and c and d on another one."""
    import_words(repository, tmp_path, "a b c d e f<b")


def import_words(repository, tmp_path, words):
    """Import a session of these words; `f<b` is a message f after b."""
    return import_sources(
        repository, [write_transcript(tmp_path / "a.jsonl", *session_records("s1", words))], (DemoFormat(),)
    )


def other_branch(repository):
    """Return the name of the branch that is not main."""
    (name,) = (name for name in list_branch_tips(repository, "conv-001") if name != "main")
    return name


def test_tracking_refs_stay_at_the_sources_tips(repository):
    before = repository.list_refs(TRACKING)
    done = rebase(repository, "conv-001", branch=other_branch(repository), onto="main")
    assert isinstance(done, Replayed)
    assert repository.list_refs(TRACKING) == before


def test_new_messages_of_a_rebased_branch_go_to_an_import_branch(repository, tmp_path):
    name = other_branch(repository)
    tip = rebase(repository, "conv-001", branch="main", onto=name).tip
    done = import_words(repository, tmp_path, "a b c d e f<b g")
    assert list_branch_tips(repository, "conv-001")["main"] == tip
    assert "conv-001/main was moved here" in done.notes[0].text
    (new,) = (branch for branch in list_branch_tips(repository, "conv-001") if branch.startswith("import/"))
    assert texts(repository, f"conv-001/{new}")[-2:] == ["say f", "say g"]


def test_after_undo_the_branch_follows_its_source_again(repository, tmp_path):
    rebase(repository, "conv-001", branch="main", onto=other_branch(repository))
    undo(repository)
    import_words(repository, tmp_path, "a b c d e f<b g")
    assert texts(repository, "conv-001/main")[-1] == "say g"
