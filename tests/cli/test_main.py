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


def test_scopes_alone_lists_the_commands():
    done = product()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == product("--help").stdout == product("help").stdout == product("-h").stdout


@pytest.mark.parametrize(
    "group", [("conv",), ("ai", "conv"), ("ai", "conversations"), ("conv", "operations"), ("config",)]
)
def test_a_group_without_a_command_prints_its_overview(group):
    done = product(*group)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: scopes ")
    assert done.stdout == product(*group, "--help").stdout
    assert product("help", *group).returncode == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("lst",), "did you mean scopes list?"),
        (("conv", "lst"), "did you mean scopes list?"),
        (("conv", "apend"), "did you mean scopes append?"),
        (("convesations", "list"), "did you mean scopes conv?"),
        (("undoo",), "did you mean scopes undo?"),
        (("conv", "operations", "lis"), "did you mean scopes operations list?"),
        (("--jsn", "conv", "list"), "did you mean --json?"),
        (("conv", "zzzzzz"), "see: scopes help conversations"),
        (("zzzzzz",), "see: scopes help"),
        (("--zzzzzz",), "see: scopes help"),
    ],
)
def test_an_unknown_command_is_refused_with_a_suggestion(words, hint):
    done = product(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"hint: {hint}\n")


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
    assert done.stdout.endswith("What was deleted, until gc --expire.\n")
    done = module("bogus")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: scopes has no command 'bogus'\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("version",),
        ("--help",),
        ("help",),
        ("conv", "--help"),
        ("help", "conv"),
        ("completion", "bash"),
    ],
)
def test_help_and_version_import_no_parser(words):
    """Start-up budget: a trivial command."""
    assert imported(*words) & (HEAVY | PARSER) == set()


@pytest.mark.parametrize("words", [("help", "append"), ("conv", "append", "--help"), ("help", "--all")])
def test_the_help_of_a_command_is_read_from_the_stored_file(words):
    """Start-up budget: verb help; neither the parser nor the library of the store is needed."""
    assert imported(*words) & HEAVY == set()


def test_an_unknown_command_imports_no_parser():
    assert imported("conv", "bogus") & (HEAVY | PARSER) == set()


@pytest.mark.parametrize(
    "words", [("",), ("conv", "ap"), ("conv", "show", ""), ("conv", "append", "c", "--"), ("--store", "")]
)
def test_completion_imports_next_to_nothing(words):
    """Start-up budget: completion."""
    seen = {name for name in imported("__complete", "--", *words) if not name.startswith("scopes")}
    assert (
        seen & (HEAVY | PARSER | {"re", "typing", "enum", "functools", "dataclasses", "collections", "importlib"})
        == set()
    )


def test_completion_imports_only_the_modules_that_it_needs():
    assert {name for name in imported("__complete", "--", "conv", "show", "") if name.startswith("scopes")} == {
        "scopes",
        "scopes.cli",
        "scopes.cli.completion",
        "scopes.cli.option_rows",
        "scopes.loading",
        "scopes.cli.global_options",
        "scopes.cli.main",
        "scopes.cli.table",
        "scopes.cli.command_line",
        "scopes.store",
        "scopes.store.projects",
        "scopes.regular_file",
    }


def test_completion_of_a_command_reads_the_aliases_only_if_there_may_be_some(tmp_path):
    """Git's configuration is parsed only if it mentions aliases of scopes."""
    words = ("__complete", "--", "lo")
    assert "pygit2" not in imported(*words)
    (tmp_path / ".gitconfig").write_text("[alias]\n\tco = checkout\n[scopes]\n\tauthor = carol\n")
    assert "pygit2" not in imported(*words, env={"HOME": str(tmp_path)})
    (tmp_path / ".gitconfig").write_text('[scopes "alias"]\n\tlooong = log @ -5\n')
    assert "pygit2" in imported(*words, env={"HOME": str(tmp_path)})


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
