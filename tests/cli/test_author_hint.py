"""The hint that messages are by `user`, although git knows a name."""

from __future__ import annotations

import pytest

from tests.cli.running import PRODUCT, command_line, environment, scopes
from tests.support.remotes import make_bare
from tests.terminal_picture import run_in_terminal


@pytest.fixture
def in_terminal(tmp_path):
    """Return a function that runs scopes in a terminal, with a name in git's configuration, and returns the screen."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Dana Dev\n")

    def run(*words):
        store = ("--store", str(tmp_path / "store.git"))
        screen = run_in_terminal(command_line(*store, *words, table=PRODUCT), environment(HOME=str(tmp_path)), tmp_path)
        return " ".join(screen.split())

    return run


WORDS = "config scopes.author 'Dana Dev'"
HINT = "messages are by 'user'; to use your name: scopes"
EVERYWHERE = f"in all your stores: scopes {WORDS} --level user"


@pytest.fixture
def in_script(tmp_path):
    """Return a function that runs scopes without a terminal, and returns what it writes to standard error."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Dana Dev\n")

    def run(*words):
        return scopes(*words, table=PRODUCT, env={"HOME": str(tmp_path)}, cwd=str(tmp_path)).stderr

    return run


def test_new_and_the_first_append_name_the_setting_once(in_terminal, tmp_path):
    assert f"{HINT} --store {tmp_path}/store.git {WORDS}; {EVERYWHERE}" in in_terminal("init")
    assert HINT in in_terminal("new", "talk")
    assert HINT in in_terminal("append", "@", "one")
    assert HINT not in in_terminal("append", "@", "two")
    assert HINT not in in_terminal("new", "other", "--quiet")
    assert HINT not in in_terminal("new", "other", "--json")


@pytest.mark.slow
def test_who_begins_to_share_sees_it_too(in_terminal, tmp_path):
    make_bare(tmp_path / "talks.git")
    in_terminal("new", "talk")
    in_terminal("remote", "add", "origin", str(tmp_path / "talks.git"))
    assert HINT not in in_terminal("push", "conv-001", "--dry-run")
    assert HINT in in_terminal("push", "conv-001")
    assert HINT not in in_terminal("push", "conv-001")
    assert HINT in in_terminal("clone", str(tmp_path / "talks.git"), "theirs")


def test_with_a_name_of_ones_own_there_is_no_hint(in_terminal):
    in_terminal("init")
    in_terminal("config", "scopes.author", "Dana Dev")
    assert HINT not in in_terminal("new", "talk")


@pytest.mark.slow
def test_a_name_for_all_stores_is_that_of_another_store(in_terminal, tmp_path):
    in_terminal("init")
    in_terminal("config", "scopes.author", "Dana Dev", "--level", "user")
    assert HINT not in in_terminal("--store", str(tmp_path / "other.git"), "new", "talk")


def test_a_remote_that_is_added_names_the_setting(in_terminal, tmp_path):
    assert HINT in in_terminal("remote", "add", "origin", make_bare(tmp_path / "shared.git"))
    in_terminal("config", "scopes.author", "Dana Dev")
    assert HINT not in in_terminal("remote", "add", "second", make_bare(tmp_path / "second.git"))


def test_a_script_that_begins_to_share_says_it_once_on_standard_error(in_script, tmp_path):
    bare = make_bare(tmp_path / "talks.git")
    assert HINT not in in_script("new", "talk")
    assert f"hint: {HINT} {WORDS}; {EVERYWHERE}\n" in in_script("remote", "add", "origin", bare)
    assert HINT not in in_script("push", "conv-001")
    assert f"{HINT} --store {tmp_path}/theirs {WORDS}; {EVERYWHERE}\n" in in_script("clone", bare, "theirs")
    for option in ("--json", "--quiet"):
        assert HINT not in in_script("clone", bare, f"with{option}", option)
    in_script("config", "scopes.author", "Dana Dev", "--level", "user")
    assert HINT not in in_script("clone", bare, "more")
