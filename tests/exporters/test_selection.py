"""The messages that an export contains, and their order."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon
from scopes.conversation.new_rename_delete import new
from scopes.errors import Ambiguous, NotFound
from scopes.exporters.selection import select_messages
from scopes.history.names import list_branch_tips
from tests.exporters.building import join, message, point, put
from tests.support.history import history, say


def words(repository, where, drawn, *, all_branches=False):
    """Return the branch and the drawn words of each slice of a selection."""
    by_id = {identity: word for word, identity in drawn.ids.items()}
    selection = select_messages(repository, where, all_branches=all_branches)
    names = [branch_slice.branch.name if branch_slice.branch else None for branch_slice in selection.slices]
    return [
        (name, " ".join(by_id[head.id] for head in s.heads)) for name, s in zip(names, selection.slices, strict=True)
    ]


@pytest.fixture
def drawn(repository):
    """Create a conversation of three branches."""
    return history(repository, "main: a b c", "fix@b: d e", "again@d: f")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("conv-001", ("main", "a b c")),
        ("conv", ("main", "a b c")),
        ("conv-001/fix", ("fix", "a b d e")),
        ("conv-001/again", ("again", "a b d f")),
        ("conv-001/fix~1", ("fix", "a b d")),
        ("conv-001/main~3", ("main", "")),
    ],
)
def test_a_selection_is_the_history_of_the_revision(repository, drawn, where, expected):
    assert words(repository, where, drawn) == [expected]


def test_a_message_named_by_its_id_belongs_to_no_branch(repository, drawn):
    assert words(repository, drawn.ids["d"], drawn) == [(None, "a b d")]


def test_all_branches_are_selected_once_the_named_one_first(repository, drawn):
    all_rows = words(repository, "conv-001", drawn, all_branches=True)
    assert all_rows == [("main", "a b c"), ("fix", "d e"), ("again", "f")]
    all_rows = words(repository, "conv-001/fix~1", drawn, all_branches=True)
    assert all_rows == [("fix", "a b d e"), ("main", "c"), ("again", "f")]


def test_the_active_branch_is_first_by_default(repository, drawn):
    all_rows = words(repository, drawn.ids["d"], drawn, all_branches=True)
    assert [name for name, _ in all_rows] == ["main", "fix", "again"]


def test_abandoned_branches_are_selected_too(repository, drawn):
    abandon(repository, "conv-001", "fix")
    selection = select_messages(repository, "conv-001", all_branches=True)
    assert ("fix", "abandoned") in [(s.branch.name, s.branch.status) for s in selection.slices]


def test_a_branch_without_messages_of_its_own_is_selected_too(repository):
    drawn = history(repository, "main: a", "empty@a:")
    assert words(repository, "conv-001", drawn, all_branches=True) == [("main", "a"), ("empty", "")]


def test_both_sides_of_a_merge_come_before_it(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    point(repository, "main", join(repository, drawn.oids["b"], drawn.oids["c"], message("m", "both", kind="human")))
    selection = select_messages(repository, "conv-001", all_branches=False)
    assert [head.id for head in selection.heads][:-1] == [drawn.ids[word] for word in "abc"]
    assert selection.parents_of(list(selection.heads)[-1]) == [drawn.ids["b"], drawn.ids["c"]]


def test_a_message_with_two_commits_is_counted_once(repository):
    drawn = history(repository, "main: a b", "fix@a:")
    copied = message("c", "copied")
    first = put(repository, "main", drawn.oids["b"], copied)
    second = put(repository, "fix", drawn.oids["a"], copied)
    selection = select_messages(repository, "conv-001", all_branches=True)
    assert (selection.size, [head.oid for head in selection.heads][-1]) == (3, first)
    assert [head.oid for head in selection.copies[copied.id]] == [second]
    assert [selection.parents_of(head) for head in selection.copies[copied.id]] == [[drawn.ids["a"]]]


def test_an_empty_conversation_has_a_root_and_no_messages(repository):
    new(repository)
    selection = select_messages(repository, "conv-001", all_branches=True)
    assert (selection.size, selection.root) == (0, list_branch_tips(repository, "conv-001")["main"])


def test_an_unknown_or_ambiguous_revision_is_refused(repository):
    history(repository, "main: a", "fix: b", "fit: c")
    with pytest.raises(NotFound, match="there is no conversation 'conv-7'"):
        select_messages(repository, "conv-7", all_branches=False)
    with pytest.raises(Ambiguous, match="matches several"):
        select_messages(repository, "conv-001/fi", all_branches=False)


def test_messages_of_other_conversations_are_not_selected(repository):
    history(repository, "main: a")
    history(repository, "main: b")
    say(repository, "conv-002", "c")
    assert select_messages(repository, "conv-002", all_branches=True).size == 2
