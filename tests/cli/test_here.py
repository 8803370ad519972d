"""One meaning of "here": the project of the current directory is its repository, for every command."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.cli.test_import_projects import write_session
from tests.support.store import git

OLD = "/old/machine/shop"  # where the sessions were recorded


class User:
    """A user with the repositories shop, a clone of it, and bank, and a store with sessions of them."""

    def __init__(self, home):
        self.home = home

    def run(self, *words, cwd="shop", code=0, store="store.git"):
        """Run scopes in a directory, and return the finished process."""
        env = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": "", "SCOPES_STORE": store and str(self.home / store)}
        done = scopes(*words, table=PRODUCT, env=env, cwd=str(self.home / cwd))
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def listed(self, *words, cwd="shop", **options):
        """Return the ids of what the list has."""
        return {
            row["id"]
            for row in json.loads(self.run("list", "--json", *words, cwd=cwd, **options).stdout)["conversations"]
        }

    def at(self, cwd="shop", **options):
        """Return the id of `@`."""
        return json.loads(self.run("show", "@", "--json", cwd=cwd, **options).stdout)["id"]


def repository(path, remote=None):
    """Make a repository with a commit of its own."""
    path.mkdir()
    git(path / ".git", "init", "-q")
    git(path / ".git", "commit", "-q", "--allow-empty", "-m", path.name)
    if remote is not None:
        git(path / ".git", "remote", "add", "origin", remote)


@pytest.fixture
def user(tmp_path):
    """conv-001 began in shop, on another machine; conv-002, the newest, in bank."""
    repository(tmp_path / "shop", "git@host:team/shop.git")
    repository(tmp_path / "bank")
    for folder in ("notes", "notes/today"):
        (tmp_path / folder).mkdir()
    write_session(tmp_path, "a", "s-1", OLD, "How much is tea?")
    write_session(tmp_path, "b", "s-2", tmp_path / "bank", "Count it.", timestamp="2026-01-02T00:00:00Z")
    user = User(tmp_path)
    user.run("import", cwd="notes")
    return user


def test_list_latest_and_append_mean_the_same_conversations(user):
    """U1: a clone at another path than the sessions were recorded in."""
    assert user.listed("--project", ".") == {"conv-001"}
    assert user.at() == "conv-001"
    user.run("append", "@", "And coffee?")
    assert user.run("log", "main", "--oneline").stdout.count("\n") == 2


def test_a_push_of_a_project_sends_what_is_certainly_of_it_and_says_what_it_leaves(user):
    """What leaves cannot be taken back: another project may have been in a directory of that name."""
    git(user.home / "remote.git", "init", "-q", "--bare")
    user.run("remote", "add", "origin", str(user.home / "remote.git"))
    text = "1 conversation not sent: of the project by the name of a directory that is not here"
    for target in ("origin", "trip.bundle"):
        assert text in user.run("push", target, "--project", ".", code=4).stderr
    assert git(user.home / "remote.git", "for-each-ref") == ""
    write_session(user.home, "c", "s-3", user.home / "shop", "And coffee?", timestamp="2026-01-03T00:00:00Z")
    user.run("import", cwd="notes")
    done = user.run("push", "--project", ".")
    assert done.stdout.startswith("conv-003\tnew")
    assert (text in done.stderr, "scopes list --project ." in done.stderr) == (True, True)
    assert user.run("push", "conv-001").stdout.startswith("conv-001\tnew")


def test_a_push_of_the_project_from_its_own_store_is_as_careful(user):
    user.run("init", store="")
    user.run("import", store="")
    git(user.home / "remote.git", "init", "-q", "--bare")
    user.run("remote", "add", "origin", str(user.home / "remote.git"), store="")
    assert "1 conversation not sent" in user.run("push", "--project", ".", code=4, store="").stderr
    user.run("new", "Tea", store="")
    assert user.run("push", "--project", ".", store="").stdout.startswith("conv-002\tnew")


def test_context_and_export_are_of_the_latest_conversation_if_none_is_named(user):
    """U12."""
    for verb in ("context", "export"):
        printed = user.run(verb).stdout
        assert "How much is tea?" in printed
        assert "Count it." not in printed


def test_a_store_of_the_project_takes_what_the_list_finds(user):
    user.run("init", store="")
    assert json.loads(user.run("import", "--json", store="").stdout)["sessions_of_other_projects"] == 1
    assert user.at(store="") == "conv-001"


def test_a_conversation_of_another_project_is_never_the_latest(user):
    repository(user.home / "cli")
    for words in (("log",), ("append", "@", "x"), ("show", "@"), ("resume",)):
        done = user.run(*words, cwd="cli", code=4)
        assert "no conversation of this project (cli); the newest of all is conv-002" in done.stderr
        assert "scopes list --project all" in done.stderr
    assert user.listed("--project", "all", cwd="cli") == {"conv-001", "conv-002"}


@pytest.mark.every_case("each is another way to be the same repository")
@pytest.mark.parametrize("remote", [None, "https://host/team/bank"])
def test_a_clone_is_the_project_by_its_first_commit(user, remote):
    """A clone of a directory has no remote address, and the other repository may have none either."""
    git(user.home / "copy" / ".git", "clone", "-q", "--bare", str(user.home / "bank"), str(user.home / "copy" / ".git"))
    git(user.home / "copy" / ".git", "config", "core.bare", "false")
    if remote is not None:
        git(user.home / "bank" / ".git", "remote", "add", "origin", remote)
    assert user.listed("--project", ".", cwd="copy") == {"conv-002"}
    assert user.at(cwd="copy") == "conv-002"


@pytest.mark.every_case("both are no project")
@pytest.mark.parametrize("place", [".", "notes"])
def test_outside_of_a_repository_the_latest_is_that_of_the_directory_or_else_of_all(user, place):
    assert user.at(cwd=place) == "conv-002"
    write_session(user.home, "c", "s-3", user.home / place, "Think.", timestamp="2026-01-01T12:00:00Z")
    write_session(user.home, "d", "s-4", user.home / "notes/today", "Talk.", timestamp="2026-01-03T00:00:00Z")
    user.run("import", cwd="notes")
    prompt = user.run("log", "@", cwd=place).stdout
    assert "Think." in prompt
