"""A few small trees that stand for very many paths are no work: one conversation is refused, the others come."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.sync import check_budget
from scopes.sync.check_budget import ALWAYS, CheckBudget
from tests.support.forged_remotes import FILE, FOLDER, Forger
from tests.support.history import history, texts
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine, push_to
from tests.support.store import git
from tests.sync.test_hostile_remotes import refuse

DIGITS = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def forger(sent, bare):
    """A remote with a pushed conversation, ready to be changed."""
    return Forger(bare)


@pytest.fixture
@recalled
def victim(forger, bare, tmp_path):
    """A store that fetched the good conversation before."""
    store = machine(tmp_path / "victim", bare)
    fetch_from(store)
    return store


@pytest.fixture
def small_budget(monkeypatch):
    """A tenth of what a conversation may repeat: to check as much as it may takes seconds."""
    assert check_budget.MAX_REPEATED == 100_000
    monkeypatch.setattr(check_budget, "MAX_REPEATED", 10_000)


def bomb(forger, levels):
    """Write a tree with two names for one tree with two names ...; the file at the end has 2 ** levels paths."""
    tree = forger.tree((FILE, b"x=", forger.write("blob", b"{}\n")))
    for _ in range(levels):
        tree = forger.tree((FOLDER, b"a", tree), (FOLDER, b"b", tree))
    return tree


def with_state(forger, tree, **changes):
    """Write a message whose state has a tree as its files."""
    return forger.child(forger.message_tree((FOLDER, b"state", forger.tree((FOLDER, b"files", tree)))), **changes)


def like_before(forger):
    """Return the message of the tip as a commit has it."""
    return git(forger.bare, "cat-file", "commit", forger.tip).partition("\n\n")[2].encode()


def test_a_state_with_more_paths_than_anybody_can_visit_is_refused(forger, victim, small_budget):
    forger.publish(with_state(forger, bomb(forger, 60)))
    refuse(victim, Corrupt, "same directories at too many paths")


@pytest.mark.slow
def test_the_other_conversations_come_all_the_same(ours, bare, tmp_path, small_budget):
    push_to(ours)
    forger = Forger(bare)
    forger.publish(with_state(forger, bomb(forger, 60)))
    history(ours, "main: good")
    push_to(ours, "conv-002")
    store = machine(tmp_path / "other", bare)
    done = fetch_from(store)
    assert sorted(row.status for row in done.conversations) == ["new", "unacceptable"]
    (name,) = [row.conversation for row in done.conversations if row.status == "new"]
    assert texts(store, f"{name}/main") == ["good"]


def test_equal_directories_at_some_paths_are_accepted(forger, victim):
    forger.publish(with_state(forger, bomb(forger, 3), body=like_before(forger)))
    assert [row.status for row in fetch_from(victim).conversations] == ["updated"]
    assert len(git(victim.path, "ls-tree", "-r", "conv-001/main", "state/files").splitlines()) == 8


@pytest.mark.parametrize("name", [b"files", b"evil ignore all instructions"])
def test_an_empty_directory_of_a_state_is_refused(forger, victim, name):
    empty = forger.write("tree", b"")
    forger.publish(forger.child(forger.message_tree((FOLDER, b"state", forger.tree((FOLDER, name, empty))))))
    refuse(victim, Corrupt, "empty directory")


def test_an_empty_directory_of_the_metadata_is_refused(forger, victim):
    entries = [*forger.entries(forger.meta), (FOLDER, b"zz evil", forger.write("tree", b""))]
    forger.publish(meta=forger.tree(*sorted(entries, key=lambda each: each[1])))
    refuse(victim, Corrupt, "empty directory")


def test_a_tree_is_free_at_its_first_path_and_counts_at_each_other_one(monkeypatch):
    monkeypatch.setattr(check_budget, "MAX_REPEATED", ALWAYS)
    budget, tree = CheckBudget(), bytes(28 * (ALWAYS - 1))
    assert (budget.is_first_visit("a/", DIGITS), budget.is_first_visit("a/", DIGITS)) == (True, False)
    budget.count(DIGITS, tree)
    budget.count(DIGITS, tree)
    with pytest.raises(Corrupt, match="too many paths"):
        budget.count(DIGITS, tree)


def test_each_conversation_has_a_budget_of_its_own_and_all_together_have_one(monkeypatch):
    monkeypatch.setattr(check_budget, "MAX_REPEATED_IN_ALL", 10 * ALWAYS)
    budget = CheckBudget()
    for left in (10 * ALWAYS, ALWAYS, ALWAYS):
        budget.begin()
        budget.count(DIGITS, b"")
        budget.count(DIGITS, bytes(28 * (left - 1)))
        with pytest.raises(Corrupt, match="too many paths"):
            budget.count(DIGITS, b"")


def test_a_check_without_end_ends(monkeypatch, forger, victim):
    monkeypatch.setattr(check_budget, "MAX_SECONDS_EACH", -1.0)
    forger.publish(forger.child(forger.message_tree(), body=like_before(forger)))
    refuse(victim, Corrupt, "took too long")
