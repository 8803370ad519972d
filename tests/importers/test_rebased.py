"""An imported branch that was rebased is the user's own from then on, and its source is still followed beside it."""

from __future__ import annotations

import pytest

from scopes.conversation.rebase import rebase
from scopes.conversation.undo import undo
from scopes.history.revparse import list_branch_tips
from scopes.importers.branch_updates import TRACKING
from scopes.importers.run import import_sources
from scopes.merge.sequencer import Replayed
from tests.importers.toy import Toy, session_records, write_transcript
from tests.support.history import texts


@pytest.fixture(autouse=True)
def imported(repository, tmp_path):
    """Import a session that has two continuations after b: f on main, and c, d and e on another branch."""
    bring(repository, tmp_path, "a b c d e f<b")


def bring(repository, tmp_path, words):
    """Import the session as it is now."""
    return import_sources(repository, [write_transcript(tmp_path / "a.jsonl", *session_records("s1", words))], (Toy(),))


def beside(repository):
    """Name the branch that is not main."""
    (name,) = (name for name in list_branch_tips(repository, "conv-001") if name != "main")
    return name


def test_tracking_refs_stay_where_the_source_stands(repository):
    before = repository.list_refs(TRACKING)
    done = rebase(repository, "conv-001", branch=beside(repository), onto="main")
    assert isinstance(done, Replayed)
    assert repository.list_refs(TRACKING) == before


def test_what_comes_later_stands_beside_a_rebased_branch(repository, tmp_path):
    name = beside(repository)
    tip = rebase(repository, "conv-001", branch="main", onto=name).tip
    done = bring(repository, tmp_path, "a b c d e f<b g")
    assert list_branch_tips(repository, "conv-001")["main"] == tip
    assert "conv-001/main was moved here" in done.notes[0].text
    (new,) = (branch for branch in list_branch_tips(repository, "conv-001") if branch.startswith("import/"))
    assert texts(repository, f"conv-001/{new}")[-2:] == ["say f", "say g"]


def test_after_undo_the_source_is_followed_again(repository, tmp_path):
    rebase(repository, "conv-001", branch="main", onto=beside(repository))
    undo(repository)
    bring(repository, tmp_path, "a b c d e f<b g")
    assert texts(repository, "conv-001/main")[-1] == "say g"
