"""The test helper that builds histories from drawings."""

from __future__ import annotations

import pytest

from scopes.conversation.show import cat, show
from scopes.history.names import list_branch_tips, read_active_branch
from tests.support.history import history, texts
from tests.support.store import make_store


def test_a_drawn_history_has_the_branches_and_messages_of_its_rows(repository):
    drawn = history(repository, "main: a b c", "fix@b: d e")
    assert texts(repository, "conv-001") == ["a", "b", "c"]
    assert texts(repository, "conv-001/fix") == ["a", "b", "d", "e"]
    assert read_active_branch(repository, drawn.conversation) == "main"
    assert list_branch_tips(repository, drawn.conversation) == {"main": drawn.oids["c"], "fix": drawn.oids["e"]}


def test_a_drawn_message_has_the_id_listed_for_its_word(repository):
    drawn = history(repository, "main: a b", "fix@a: d", author="dave")
    found = cat(repository, drawn.ids["d"])
    assert (found.message.text, found.message.author.name, found.head.oid) == ("d", "dave", drawn.oids["d"])
    assert found.head.parents == (drawn.oids["a"],)
    assert sorted(drawn.ids) == sorted(drawn.oids) == ["a", "b", "d"]


def test_a_drawn_branch_can_start_at_the_root_or_on_any_branch(repository):
    drawn = history(repository, "main: a b", "early@root: c", "late: d", "deep/er@d: e", "empty@a:")
    assert texts(repository, "conv-001/early") == ["c"]
    assert texts(repository, "conv-001/late") == ["a", "b", "d"]
    assert texts(repository, "conv-001/deep/er") == ["a", "b", "d", "e"]
    assert texts(repository, "conv-001/empty") == ["a"]
    assert list_branch_tips(repository, drawn.conversation)["empty"] == drawn.oids["a"]


def test_the_same_drawing_has_the_same_ids_in_every_run(repository):
    """Clock and ids start with the same values in every test."""
    drawn = history(repository, "main: a b")
    assert drawn.ids["a"] == "jydubblcx3nywygoaxa55t7dvu"
    assert show(repository, "conv-001").created_at == "2026-01-01T00:00:00.000Z"


def test_a_row_that_cannot_be_parsed_is_an_error(repository, tmp_path):
    with pytest.raises(ValueError, match="is no row"):
        history(repository, "main a b")
    with pytest.raises(ValueError, match="two messages"):
        history(make_store(tmp_path / "other.git"), "main: a a")
