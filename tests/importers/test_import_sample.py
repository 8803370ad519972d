"""`import --sample`: the same made-up conversation in every store."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import list_tags
from scopes.conversation.changes import changes
from scopes.conversation.decisions import decisions
from scopes.conversation.new_rename_delete import delete, new, rename_conversation
from scopes.conversation.show import show
from scopes.conversation.stats import files
from scopes.conversation.undo import list_operations, undo
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.history.messages import plain_message
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.store import git, make_store, open_store, refs


def test_the_sample_has_something_for_every_command(repository):
    result = import_sample(repository)
    seen = show(repository, result.conversation)
    assert (result.conversation, result.new_messages, result.messages) == ("conv-001", seen.messages, seen.messages)
    assert result.branches == len(seen.branches) > 1
    assert len(seen.participants) >= 3
    assert seen.title is not None
    assert seen.active_branch in {branch.name for branch in seen.branches}
    assert all(branch.purpose for branch in seen.branches if branch.name != "main")
    for found in (
        decisions(repository, "conv-001").decisions,
        files(repository, "conv-001").files,
        list_tags(repository, "conv-001").tags,
    ):
        assert found
    assert changes(repository, "conv-001").items


def test_the_sample_has_the_same_commits_in_every_store(repository, tmp_path):
    """P11: fixed times and ids, no data of the machine."""
    other = open_store(make_store(tmp_path / "other.git").path, actor="somebody else")
    new(other)
    first, second = import_sample(repository), import_sample(other)
    assert (first.conversation, second.conversation) == ("conv-001", "conv-002")
    assert list_branch_tips(repository, first.conversation) == list_branch_tips(other, second.conversation)


def test_a_second_import_finds_the_first(repository):
    first = import_sample(repository)
    before = refs(repository)
    again = import_sample(repository)
    assert (again.conversation, again.new_messages, again.operation) == (first.conversation, 0, None)
    assert refs(repository) == before
    assert len(list_operations(repository).operations) == 1


def test_the_sample_is_found_after_a_rename_and_new_messages(repository):
    import_sample(repository)
    rename_conversation(repository, "conv-001", "tour")
    append(repository, "tour", plain_message("carol", "more"))
    assert import_sample(repository).conversation == "tour"


def test_a_deleted_sample_is_imported_again_and_undo_removes_it(repository):
    import_sample(repository)
    delete(repository, "conv-001")
    again = import_sample(repository)
    assert (again.conversation, again.new_messages) == ("conv-002", again.messages)
    undo(repository)
    assert [name for name in refs(repository) if not name.startswith("refs/scopes/trash/")] == []


def test_the_sample_passes_verify_and_git_fsck(repository):
    import_sample(repository)
    assert verify(repository).findings == ()
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def purge_in(repository, tmp_path, request):
    purge(repository, request, Places(str(tmp_path / "index")))
    return open_store(repository)


def test_a_purged_sample_does_not_come_back(repository, tmp_path):
    import_sample(repository)
    after = purge_in(repository, tmp_path, PurgeRequest(conversations=("conv-001",)))
    with pytest.raises(Refused, match="the conversation of the sample was purged here"):
        import_sample(after)
    assert conversation_ids(after) == []
    assert find_word("Login fails on Safari", repository.path) == []


def test_a_purged_message_of_the_sample_does_not_come_back(repository, tmp_path):
    import_sample(repository)
    word = "Login before Friday comes"
    after = purge_in(repository, tmp_path, PurgeRequest(query='"' + word + '"'))
    before = refs(after)
    assert import_sample(after).operation is None
    assert refs(after) == before
    assert find_word(word, repository.path) == []  # not as an object that nothing reaches either
    delete(after, "conv-001")
    with pytest.raises(Refused, match="a message of the sample was purged here"):
        import_sample(after)
