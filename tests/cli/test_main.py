"""The entry point: what is printed or refused without a parser, and which modules are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scopes import __version__
from tests.cli.running import PRODUCT, ROOT, environment, imported, scopes

HEAVY = {"pygit2", "rich", "pydantic", "tiktoken", "sqlite3", "asyncio", "importlib.metadata"}
PARSER = {"typer", "click", "typer.main"}


def product(*words, **keywords):
    return scopes(*words, table=PRODUCT, **keywords)


@pytest.mark.parametrize("words", [("--version",), ("version",), ("-q", "version"), ("version", "--no-pager")])
def test_the_version_is_one_line(words):
    done = product(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"scopes {__version__}\n", "")


def test_the_version_under_json_is_one_document():
    assert product("version", "--json").stdout == f'{{"scopes":1,"kind":"version","version":"{__version__}"}}\n'


def test_scopes_alone_is_the_first_page_of_help():
    assert product().stdout == product("help").stdout


def test_a_group_without_a_command_lists():
    done = product("conflicts", "--store", "/nowhere")
    assert (done.returncode, done.stdout) == (4, "")


def test_a_suggested_command_is_never_run():
    assert product("versio").stdout == ""


def test_with_json_an_error_before_parsing_is_json_too():
    done = product("bogus", "--json")
    assert done.stderr.startswith('{"error":')


@pytest.mark.parametrize("word", [b"caf\xe9", b"\xff"])
@pytest.mark.parametrize("before", [(), ("conv", "append", "conv-001"), ("version",)])
def test_arguments_that_are_not_text_are_refused(word, before):
    """A-7."""
    done = product(*before, word)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: argument {len(before) + 1} is not valid UTF-8")


@pytest.mark.parametrize("word", ["\x1b[31mx", "a\u202eb", "x\x07"])
def test_control_characters_in_an_unknown_word_are_escaped(word):
    """H-71."""
    done = product("conv", word)
    assert done.returncode == 2
    assert not set(done.stderr) & {"\x1b", "\u202e", "\x07"}


def module(*words):
    line = [sys.executable, "-m", "scopes", *words]
    return subprocess.run(line, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_module_is_the_same_command():
    done = module("--version")
    assert (done.returncode, done.stdout) == (0, f"scopes {__version__}\n")


def test_the_process_prints_all_output_and_keeps_the_exit_code():
    done = module("help", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("One: scopes help NAME\n")
    done = module("bogus")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: scopes has no command 'bogus'\n")


@pytest.mark.parametrize("words", [("--version",), ("version",), ("--help",), ("help",), ("completion", "bash")])
def test_help_and_version_import_no_parser(words):
    """Start-up budget: a trivial command."""
    assert imported(*words) & (HEAVY | PARSER) == set()


def test_an_unknown_command_imports_no_parser():
    assert imported("conflicts", "bogus") & (HEAVY | PARSER) == set()


@pytest.mark.parametrize("words", [("",), ("ap",), ("conflicts", ""), ("--color", "")])
def test_completion_of_a_command_imports_next_to_nothing(words):
    """Start-up budget: completion."""
    seen = {name for name in imported("__complete", "--", *words) if not name.startswith("scopes")}
    assert seen & (HEAVY | PARSER | {"re", "enum", "functools", "dataclasses", "collections", "importlib"}) == set()


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_arguments_are_utf8_in_every_locale(tmp_path, locale):
    """LC_ALL=C without UTF-8 mode refused valid arguments."""
    environ = environment(LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    def run(*words):
        line = [sys.executable, "-m", "scopes", "--store", str(tmp_path / "st\u00f6re.git"), "conv", *words]
        return subprocess.run(line, check=False, env=environ, capture_output=True, timeout=60)

    assert run("new", "caf\u00e9").returncode == 0
    done = run("list")
    assert (done.returncode, "caf\u00e9".encode() in done.stdout) == (0, True), done.stderr


def test_a_list_imports_no_more_than_it_shows(conversation):
    """Start-up budget: list."""
    seen = imported("list", env={"SCOPES_STORE": conversation.store})
    seen = imported("list", env={"SCOPES_STORE": conversation.store})
    assert seen & (HEAVY - {"sqlite3"}) == set()
    assert [name for name in seen if name.startswith(("scopes.sync", "scopes.purge", "scopes.importers"))] == []
