"""Which conversations are of the project of another one: nothing of the others gets into its prompts."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete, new
from scopes.history.handles import read_uuid
from scopes.memory.context import ProjectMembers
from tests.support.store import git, make_store


def repository_at(path):
    """Create a repository of git with one commit; return its directory."""
    path.mkdir(parents=True)
    git(path / ".git", "init", "-q")
    git(path / ".git", "commit", "-q", "--allow-empty", "-m", path.name)
    return path


@pytest.fixture
def shop(tmp_path):
    return repository_at(tmp_path / "shop")


def started_in(store, directory):
    """Create a conversation that began in a directory; return its id."""
    return new(store, directory=None if directory is None else str(directory)).id


def members_of(store, directory):
    return ProjectMembers(store, started_in(store, directory))


def test_conversations_of_all_directories_and_worktrees_of_a_repository_are_of_one_project(repository, shop):
    linked = shop.parent / "fix"
    git(shop / ".git", "worktree", "add", "-q", str(linked))
    (shop / "src").mkdir()
    members = members_of(repository, shop / "src")
    assert [members.has(started_in(repository, each)) for each in (shop, linked, shop / "src", shop / "gone")] == [
        True
    ] * 4


def test_a_conversation_of_another_repository_is_of_another_project(repository, shop, tmp_path):
    other, inner = repository_at(tmp_path / "bank"), repository_at(shop / "vendor")
    members = members_of(repository, shop)
    assert not any(members.has(started_in(repository, each)) for each in (other, inner, tmp_path))


def test_outside_of_git_only_the_directory_itself_is_the_project(repository, tmp_path):
    """Other projects may be below it."""
    (tmp_path / "work" / "client").mkdir(parents=True)
    members = members_of(repository, tmp_path / "work")
    assert members.has(started_in(repository, f"{tmp_path}/work/"))
    assert not any(members.has(started_in(repository, tmp_path / each)) for each in ("work/client", "."))


@pytest.mark.parametrize("recorded", [None, "", ".", "shop", "/\0"])
def test_what_has_no_directory_is_of_no_project(repository, shop, recorded):
    assert not members_of(repository, shop).has_directory(recorded)
    assert not members_of(repository, recorded).has_directory(str(shop))


def test_a_conversation_without_a_directory_is_of_its_own_project_alone(repository):
    first, second = started_in(repository, None), started_in(repository, None)
    members = ProjectMembers(repository, first)
    assert (members.has(first), members.has(second)) == (True, False)


def test_a_conversation_that_only_has_the_same_name_is_another_one(repository, shop):
    """A memory entry keeps the uuid: its conversation may be one of another store, or one that was deleted."""
    first, second = started_in(repository, shop), started_in(repository, shop)
    members, uuid = ProjectMembers(repository, first), read_uuid(repository, second)
    assert (members.has(second, uuid), members.has(second, "0" * 32)) == (True, False)
    delete(repository, second)
    assert not members.has(second, uuid)


def test_in_the_store_of_a_project_everything_is_of_it_except_what_is_elsewhere_here(shop, tmp_path):
    """Conversations from other machines have directories that are not here."""
    store = make_store(shop / ".git" / "scopes")
    other = repository_at(tmp_path / "bank")
    members = members_of(store, shop)
    assert [members.has_directory(each) for each in (None, "/home/someone/shop", str(shop))] == [True] * 3
    assert not members.has_directory(str(other))


def test_in_the_store_of_a_project_a_conversation_of_another_one_has_its_own_members(shop, tmp_path):
    store = make_store(shop / ".git" / "scopes")
    other = repository_at(tmp_path / "bank")
    members = members_of(store, other)
    assert [members.has_directory(each) for each in (str(other), str(shop), None)] == [True, False, False]
