"""Completion: what `scopes __complete` offers, and the scripts in real shells, if they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from scopes.cli.completion import complete
from scopes.cli.completion_scripts import SCRIPTS
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, ROOT, environment, scopes
from tests.support.terminal_session import in_terminal


@pytest.fixture
def offered(conversation, tmp_path):
    """Return a function that completes a line in a store with a conversation; it returns the words."""

    def offered(line, *, described=False):
        found, _ = complete(TABLE, line.split(" "), {"SCOPES_STORE": conversation.store, "HOME": str(tmp_path)})
        return found if described else [word for word, _ in found]

    return offered


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mer", ["merge"]),
        ("conflicts r", ["resolve"]),
        ("ai conversations mer", ["merge"]),
        ("help conflicts r", ["resolve"]),
        ("merge --allow", ["--allow-unrelated"]),
        ("merge --sec", ["--secrets"]),
        ("--col", ["--color"]),
        ("--color n", ["never"]),
        ("log --color=n", ["--color=never"]),
        ("conflicts resolve 1 --take s", ["source"]),
        ("append --kind pri", ["priority"]),
        ("-c scopes.dur", ["scopes.durability"]),
        ("log ma", ["main"]),
        ("log conv-001/f", ["conv-001/fix"]),
        ("log main..f", ["main..fix"]),
        ("log conv", ["conv-001"]),
        ("merge fi", ["fix"]),
        ("merge conv-001 fi", ["fix"]),
        ("merge --source fi", ["fix"]),
        ("delete conv-001 c", ["conv-001"]),
        ("log -- ", []),
        ("log -n 3 conv", ["conv-001"]),
        ("log -vn 3 conv", ["conv-001"]),
        ("bogus ", []),
    ],
)
def test_a_word_is_completed(offered, line, expected):
    assert offered(line) == expected


def test_a_command_comes_with_its_summary_and_a_message_with_its_text(offered, conversation):
    assert offered("undo", described=True) == [("undo", TABLE.commands["undo",].summary)]
    start = conversation.first[:4]
    assert offered(f"cat {start}", described=True) == [(conversation.first[:8], "carol: How shall we do it?")]


def test_the_remotes_are_offered(offered, conversation, bare):
    conversation.run("remote", "add", "team", bare)
    assert offered("remote remove te", described=True) == [("team", bare)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("log nowhere", 1),
        ("merge --nope", 1),
        ("--color nope", 1),
        ("import some", 0),
        ("log -- some", 0),
        ("bogus x", 0),
    ],
)
def test_the_exit_code_tells_the_shell_whether_a_file_name_is_possible(conversation, line, code):
    """Where no id matched, the shell offered the files of the directory."""
    done = scopes("__complete", "--", *line.split(), table=PRODUCT, env={"SCOPES_STORE": conversation.store})
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_store_of_another_user_is_not_opened(offered, monkeypatch):
    """Its configuration is not read either: `__complete` read it on every tab."""
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    assert offered("log conv") == []


def test_a_name_that_a_shell_would_run_is_not_offered(conversation):
    """A fetch brings names of branches, and `x$(touch${IFS}/tmp/y)` is one that git accepts."""
    tip = conversation.run("log", "-1", "--format", "{oid}").strip()
    for name in ("x$(id);y", "xy"):
        subprocess.run(["git", "-C", conversation.store, "update-ref", f"refs/heads/conv-001/{name}", tip], check=True)
    done = scopes("__complete", "--", "log", "x", table=PRODUCT, env={"SCOPES_STORE": conversation.store})
    assert done.stdout == "xy\tbranch of conv-001\n"


@pytest.mark.parametrize(
    "words", [(), ("--",), ("--", "-C", "/dev/null/nowhere", "log", ""), ("--", "\udcff", "\udcfe")]
)
def test_an_error_prints_nothing(words):
    assert scopes("__complete", *words, table=PRODUCT).stderr == ""


@pytest.fixture
def shell(conversation, tmp_path):
    """Run a script in a shell that finds our `scopes` on its PATH, in a terminal if there are keys to type."""
    program = tmp_path / "bin" / "scopes"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -P -m scopes \"$@\"\n")
    program.chmod(0o755)

    def shell(*words, keys=None):
        if shutil.which(words[0]) is None or (keys and shutil.which("fzf") is None):
            pytest.skip(f"{words[0]} or fzf is not installed")
        path = f"{program.parent}:{environment()['PATH']}"
        env = environment(PATH=path, SCOPES_STORE=conversation.store, HOME=str(tmp_path), TERM="xterm", PYTHONPATH=ROOT)
        if keys:
            return in_terminal([*words], keys, env=env, cwd=tmp_path)
        done = subprocess.run(words, check=False, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return shell


BASH = """\
compopt() {{ echo compopt "$@"; }}
source {root}/completions/scopes.bash
COMP_WORDS=({words}); COMP_CWORD=$(({count} - 1)); _scopes; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("scopes", "und"), ["undo"]),
        (("scopes", "log", "conv-001/f"), ["conv-001/fix"]),
        (("scopes", "--color", "=", "a"), ["auto", "always"]),
        (("scopes", "--color", "=", '"a'), ["auto", "always"]),
        (("scopes", "log", "nowhere"), ["compopt +o bashdefault +o default", ""]),
    ],
)
def test_bash_completes_words_that_it_splits(shell, words, expected):
    quoted = " ".join(f"'{word}'" for word in words)
    assert shell("bash", "--norc", "-c", BASH.format(root=ROOT, words=quoted, count=len(words))) == expected


# The variables that zsh sets for a completion function, and the two zsh functions that ours calls.
ZSH = """\
compdef() {{ true }}; _files() {{ print files }}; _describe() {{ print -rl -- $described }}
source {root}/completions/_scopes
words=({words} '{current}'); CURRENT=$#words; PREFIX='{current}'; _scopes
"""


def test_zsh_completes_with_descriptions_and_offers_files_otherwise(shell):
    for words, current, expected in (
        ("scopes", "undo", [f"undo:{TABLE.commands['undo',].summary}"]),
        ("scopes log", "conv", ["conv-001:conversation"]),
        ("scopes import", "", ["files"]),
    ):
        assert shell("zsh", "-f", "-c", ZSH.format(root=ROOT, words=words, current=current)) == expected


def test_fish_completes_commands_with_their_summaries(shell):
    program = f"source {ROOT}/completions/scopes.fish; complete -C 'scopes undo'"
    assert shell("fish", "--no-config", "-c", program) == [f"undo\t{TABLE.commands['undo',].summary}"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_completion_prints_the_script_of_a_shell(name):
    assert scopes("completion", name, table=PRODUCT).stdout == SCRIPTS[name]


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_completion_refuses_an_unknown_shell(words):
    done = scopes("completion", *words, table=PRODUCT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash, zsh or fish" in done.stderr


LOADED = {
    "bash": ("bash", "--norc", "-c", 'eval "$(scopes completion fzf)"; '),
    "fish": ("fish", "--no-config", "-c", "scopes completion fzf-fish | source; "),
}


@pytest.mark.parametrize("name", LOADED)
def test_the_function_for_fzf_prints_the_name_of_the_chosen_conversation(shell, conversation, tmp_path, name):
    conversation.run("new", "it's $(touch hacked) `touch hacked` {1} \\t; touch hacked")
    *words, script = LOADED[name]
    shell(*words, f"{script}scopes-fzf > chosen", keys=[("2/2", "conv-001"), ("1/2", "\r")])
    assert (tmp_path / "chosen").read_text() == "conv-001\n"
    assert not (tmp_path / "hacked").exists()
