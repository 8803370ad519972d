"""The name of the person who uses scopes: scopes.author, else git's user.name, else asked once on a terminal."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, command_line, environment, scopes
from tests.terminal_picture import run_in_terminal

QUESTION = "Your name, for the messages that you write [user]:"


@pytest.fixture
def person(tmp_path):
    """Return a function that writes a message in a terminal, types an answer, and returns the author and the screen."""
    settings = {"HOME": str(tmp_path), "SCOPES_STORE": str(tmp_path / "store.git")}
    assert scopes("new", "talk", table=PRODUCT, env=settings).returncode == 0

    def run(typed="", *options):
        words = command_line("append", "@", "hello", *options, table=PRODUCT)
        screen = run_in_terminal(words, environment(**settings), tmp_path, typed)
        log = scopes("log", "@", "--json", table=PRODUCT, env=settings).stdout
        return json.loads(log.splitlines()[0])["author"], screen

    return run


def test_without_a_name_it_is_asked_once_and_kept_for_all_stores(person, tmp_path):
    """U14."""
    author, screen = person("Carol\n")
    assert (author, QUESTION in screen) == ("Carol", True)
    assert "author = Carol" in (tmp_path / ".gitconfig").read_text()
    author, screen = person()
    assert (author, QUESTION in screen) == ("Carol", False)


def test_an_empty_answer_is_the_name_user_and_is_not_asked_again(person):
    assert person("\n")[0] == "user"
    assert QUESTION not in person()[1]


def test_the_name_of_git_is_taken_without_a_question_and_the_own_one_comes_first(person, tmp_path):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Dana Dev\n")
    author, screen = person()
    assert (author, QUESTION in screen) == ("Dana Dev", False)
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Dana Dev\n[scopes]\n\tauthor = dana\n")
    assert person()[0] == "dana"


def test_a_script_and_who_wants_no_question_are_not_asked(person, tmp_path):
    settings = {"HOME": str(tmp_path), "SCOPES_STORE": str(tmp_path / "store.git")}
    done = scopes("append", "@", "hi", table=PRODUCT, env=settings)
    assert (done.returncode, QUESTION in done.stderr) == (0, False)
    author, screen = person("", "--no-input")
    assert (author, QUESTION in screen) == ("user", False)


def test_a_store_does_not_say_who_its_user_is(person, tmp_path):
    with (tmp_path / "store.git" / "config").open("a") as file:
        file.write("[user]\n\tname = Mallory\n")
    assert person("Carol\n")[0] == "Carol"
