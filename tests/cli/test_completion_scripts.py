"""The completion scripts, run in real shells if they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from scopes.cli.completion_scripts import SCRIPTS
from scopes.conversation.new_rename_delete import new
from scopes.importers.import_sample import import_sample
from tests.cli.running import ROOT, SAMPLE, environment, scopes, with_options
from tests.support.store import make_store
from tests.support.terminal_session import in_terminal


@pytest.fixture
def shell(tmp_path, store, sample_options):
    """Run a script in a shell that finds our `scopes` on its PATH and completes with the sample table."""
    program = tmp_path / "bin" / "scopes"
    program.parent.mkdir()
    code = with_options(sample_options)
    program.write_text(f'#!/bin/sh\nexec \'{sys.executable}\' -c "{code}" {SAMPLE} "$@"\n')
    program.chmod(0o755)

    def shell(*words):
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        path = f"{program.parent}:{environment()['PATH']}"
        env = environment(PATH=path, SCOPES_STORE=store, HOME=str(tmp_path))
        done = subprocess.run(words, check=False, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return shell


BASH = """\
compopt() {{ echo compopt "$@"; }}
source {root}/completions/scopes.bash
COMP_WORDS=({words}); COMP_CWORD=$(({count} - 1)); _scopes; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash(shell, *words):
    quoted = " ".join(f"'{word}'" for word in words)
    return shell("bash", "--norc", "-c", BASH.format(root=ROOT, words=quoted, count=len(words)))


def test_bash_completes_commands_conversations_and_branches(shell):
    assert bash(shell, "scopes", "conv", "sta") == ["state"]
    assert bash(shell, "scopes", "conv", "state", "conv-") == ["conv-001", "conv-002"]
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", "") == ["analysis/security", "main"]


def test_bash_completes_after_an_equals_sign(shell):
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", "=", "m") == ["main"]
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", "=") == ["analysis/security", "main"]
    assert bash(shell, "scopes", "--color", "=", "a") == ["auto", "always"]


def test_bash_completes_a_word_after_an_open_quote(shell):
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", '"m') == ["main"]
    assert bash(shell, "scopes", "--color", "=", '"a') == ["auto", "always"]


def test_bash_quotes_a_name_that_the_shell_would_run(shell, store):
    """A fetch brings names of branches, and `x$(touch${IFS}/tmp/y)` is one that git accepts."""
    with open(f"{store}/refs/heads/conv-001/x$(id);y", "w", encoding="ascii") as ref:
        ref.write("0" * 40)
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", "x") == [r"x\$\(id\)\;y"]
    assert bash(shell, "scopes", "conv", "state", "conv-001", "--branch", '"x') == [""]


def test_bash_offers_no_file_names_where_an_id_is_expected(shell):
    """`compopt` works only while readline completes a word."""
    assert bash(shell, "scopes", "conv", "state", "nowhere") == ["compopt +o bashdefault +o default", ""]
    assert bash(shell, "scopes", "conv", "read", "") == [""]


def test_bash_finds_the_function_by_the_name_of_the_command(shell):
    assert shell("bash", "--norc", "-c", f"source {ROOT}/completions/scopes.bash; complete -p scopes") == [
        "complete -o bashdefault -o default -F _scopes scopes"
    ]


# The variables that zsh sets for a completion function, and the two zsh functions that ours calls.
ZSH = """\
compdef() {{ true }}; _files() {{ print files }}; _describe() {{ print -rl -- $described }}
source {root}/completions/_scopes
words=({words} '{current}'); CURRENT=$#words; PREFIX='{current}'; _scopes
"""


def zsh(shell, *words):
    quoted = " ".join(f"'{word}'" for word in words[:-1])
    return shell("zsh", "-f", "-c", ZSH.format(root=ROOT, words=quoted, current=words[-1]))


def test_zsh_completes_with_descriptions_and_offers_files_otherwise(shell):
    assert zsh(shell, "scopes", "conv", "wai") == ["wait:Wait for a signal"]
    assert zsh(shell, "scopes", "conv", "state", "log") == ["login-bug:conversation"]
    assert zsh(shell, "scopes", "conv", "state", "login-bug", "--branch=") == ["--branch=main:branch of login-bug"]
    assert zsh(shell, "scopes", "conv", "read", "") == ["files"]
    assert zsh(shell, "scopes", "conv", "state", "nowhere") == []


def test_fish_completes_commands_with_their_summaries(shell):
    program = f"source {ROOT}/completions/scopes.fish; complete -C '{{}}'"
    assert shell("fish", "--no-config", "-c", program.format("scopes wai")) == ["wait\tWait for a signal"]
    assert shell("fish", "--no-config", "-c", program.format("scopes state l")) == ["login-bug\tconversation"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_completion_prints_the_script_that_is_installed(name):
    file = {"bash": "scopes.bash", "zsh": "_scopes", "fish": "scopes.fish"}[name]
    with open(f"{ROOT}/completions/{file}") as installed:
        assert scopes("completion", name).stdout == installed.read()


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_script_is_valid_in_its_shell(shell, name):
    file = {"bash": "scopes.bash", "zsh": "_scopes"}[name]
    assert shell(name, "-n", f"{ROOT}/completions/{file}") == []


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_completion_refuses_an_unknown_shell(words):
    done = scopes("completion", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash, zsh or fish" in done.stderr


LOADED = {
    "bash": ("bash", "--norc", "-c", 'eval "$(scopes completion fzf)"; '),
    "zsh": ("zsh", "-f", "-c", 'eval "$(scopes completion fzf)"; '),
    "fish": ("fish", "--no-config", "-c", "scopes completion fzf-fish | source; "),
}


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """Run commands of a shell in a terminal, with our `scopes` and a store with the sample; return what is shown."""
    store = make_store(tmp_path / "store.git")
    import_sample(store)
    new(store, title="it's $(touch hacked) `touch hacked` {1} \\t; touch hacked")
    program = tmp_path / "bin" / "scopes"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -P -m scopes \"$@\"\n")
    program.chmod(0o755)

    def run(name, command, keys):
        if shutil.which(name) is None or shutil.which("fzf") is None:
            pytest.skip(f"{name} or fzf is not installed")
        path = f"{program.parent}:{environment()['PATH']}"
        env = environment(PATH=path, SCOPES_STORE=str(store.path), HOME=str(tmp_path), TERM="xterm", PYTHONPATH=ROOT)
        *words, script = LOADED[name]
        return in_terminal([*words, script + command], keys, env=env, cwd=tmp_path)

    return run


@pytest.mark.parametrize("name", LOADED)
@pytest.mark.every_case("each shell has its own words")
def test_the_function_for_fzf_shows_conversations_and_prints_the_name_of_the_chosen_one(terminal, tmp_path, name):
    shown = terminal(name, "scopes-fzf > chosen", [("Active Branch", "Safari"), ("1/2", "\r")])
    assert "Active Branch:" in shown
    assert (tmp_path / "chosen").read_text() == "conv-001\n"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("name", LOADED)
@pytest.mark.every_case("each shell has its own words")
def test_the_function_for_fzf_ends_without_a_choice(terminal, tmp_path, name):
    terminal(name, "scopes-fzf > chosen", [("2/2", "\x1b")])
    assert (tmp_path / "chosen").read_text() == ""


@pytest.mark.parametrize("name", ["fzf", "fzf-fish"])
def test_completion_prints_the_function_for_fzf(name):
    script = scopes("completion", name).stdout
    assert "scopes-fzf" in script
    assert "conv show {1}" in script
