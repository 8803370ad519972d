"""Stores and remotes for the tests of push and fetch."""

from __future__ import annotations

import os

import pytest

from tests.support.git_servers import find_sshd, serve_ssh
from tests.support.git_settings import remembered_settings  # noqa: F401 - git is asked once
from tests.support.history import history
from tests.support.newest_git import NEWEST_GIT
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.recalled import recalled
from tests.support.remotes import add, make_bare, push_to


@pytest.fixture(autouse=True)
def chosen_git(sealed_world, monkeypatch):
    """Use the newest git that is known: that of `SCOPES_TEST_GIT`, if it is newer than the one on PATH."""
    monkeypatch.setenv("PATH", NEWEST_GIT.directory + os.pathsep + os.environ["PATH"])


@pytest.fixture
def bare(tmp_path):
    """Make a bare repository."""
    return make_bare(tmp_path / "bare.git")


@pytest.fixture
@recalled
def ours(repository, bare):
    """A store with a conversation, which knows the remote."""
    history(repository, "main: a b", "fix@a: c")
    add(repository, bare)
    return repository


@pytest.fixture
@recalled
def sent(ours):
    """That store, after a push of its conversation."""
    push_to(ours)
    return ours


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """Run sshd, and have git use it."""
    if find_sshd() is None:
        pytest.skip("sshd is not installed")
    with serve_ssh(tmp_path / "ssh") as server:
        monkeypatch.setenv("GIT_SSH_COMMAND", server.command)
        yield server


@pytest.fixture
def ssh_program(tmp_path, monkeypatch):
    """Have git run a program in place of ssh, which starts on this machine what git wants of the host."""
    program = tmp_path / "ssh"
    program.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    return lambda path: f"ssh://host.invalid{path}"
