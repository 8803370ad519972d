"""Git asks for a password once in a command, and keeps the answer no longer than that."""

from __future__ import annotations

import os
import stat

import pytest

from scopes.errors import Inaccessible
from scopes.store.git_program import find_git, open_quarantine
from scopes.sync.addresses import parse_address
from scopes.sync.credential_cache import helper_of, keep_credentials
from tests.support.git_servers import PASSWORD, USER, serve_http, write_credential_helper
from tests.support.remotes import connection, make_bare
from tests.support.store import git, read_bytes


@pytest.fixture
def served(tmp_path):
    """Make a directory with a repository that may be pushed to over HTTP."""
    git(make_bare(tmp_path / "served" / "talks.git"), "config", "http.receivepack", "true")
    return tmp_path / "served"


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """Have git ask a program; return a function that reads what it was asked."""
    program, asked = tmp_path / "askpass", tmp_path / "questions"
    program.write_text(
        f'#!/bin/sh\necho "$1" >> {asked}\ncase $1 in User*) echo {USER};; *) cat {tmp_path}/answer;; esac\n'
    )
    program.chmod(0o755)
    (tmp_path / "answer").write_text(PASSWORD)
    monkeypatch.setenv("GIT_ASKPASS", str(program))
    return lambda: asked.read_text().splitlines() if asked.exists() else []


def ask_twice(repository, server, **options):
    """Ask a server twice what it has, each time with a git of its own, as a command on a terminal does."""
    with open_quarantine(repository.path, {}) as quarantine:
        talk = connection(terminal=True, **options)
        transport = talk.open(quarantine, parse_address(f"{server.address}/talks.git"))
        transport.list_refs("refs/*")
        transport.list_refs("refs/*")


def files_with(password, *directories):
    """Return the files below directories that have a password in them."""
    found = (os.path.join(path, name) for each in directories for path, _, names in os.walk(each) for name in names)
    return [path for path in found if not stat.S_ISSOCK(os.stat(path).st_mode) and password in read_bytes(path)]


def test_git_asks_once_for_all_that_a_command_does(repository, served, questions):
    with serve_http(served, PASSWORD) as server, keep_credentials(os.environ) as socket:
        ask_twice(repository, server, credential_cache=socket)
        assert len([sent for _, sent in server.requests if sent]) > 1
        assert files_with(PASSWORD.encode(), repository.path, os.path.dirname(socket)) == []
        assert PASSWORD not in helper_of(find_git(), socket)
    assert [each[:8] for each in questions()] == ["Username", "Password"]


def test_without_the_cache_git_asks_each_time(repository, served, questions):
    with serve_http(served, PASSWORD) as server:
        ask_twice(repository, server)
    assert len(questions()) == 4


def test_at_the_end_nothing_is_kept(repository, served, questions):
    with serve_http(served, PASSWORD) as server:
        with keep_credentials(os.environ) as socket:
            directory = os.path.dirname(socket)
            ask_twice(repository, server, credential_cache=socket)
            assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
            assert stat.S_ISSOCK(os.stat(socket).st_mode)
        assert not os.path.exists(directory)
        with keep_credentials(os.environ) as socket:
            ask_twice(repository, server, credential_cache=socket)
    assert len(questions()) == 4


def test_a_password_that_is_refused_is_asked_for_again(repository, served, questions, tmp_path):
    (tmp_path / "answer").write_text("wrong")
    with serve_http(served, PASSWORD) as server, keep_credentials(os.environ) as socket:
        with pytest.raises(Inaccessible, match="Authentication failed"):
            ask_twice(repository, server, credential_cache=socket)
        (tmp_path / "answer").write_text(PASSWORD)
        ask_twice(repository, server, credential_cache=socket)
    assert len(questions()) == 4


def test_the_users_own_helper_is_asked_first(repository, served, questions, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", write_credential_helper(tmp_path / "helper"))
    with serve_http(served, PASSWORD) as server, keep_credentials(os.environ) as socket:
        ask_twice(repository, server, credential_cache=socket)
    assert questions() == []


def test_a_path_with_special_characters_is_quoted():
    assert helper_of("/a b/git", "/tmp/x y/socket") == (
        "!'/a b/git' credential-cache --timeout=900 --socket='/tmp/x y/socket' 2>/dev/null"
    )
