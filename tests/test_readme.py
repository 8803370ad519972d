"""The README: its picture and its commands are real."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scopes.cli.command_help import read_docs
from scopes.cli.command_line import before_separator, split_words
from scopes.cli.table import GLOBAL_OPTIONS, TABLE
from tests.cli.conversation import Conversation
from tests.support import fork_server
from tests.support.random_ids import spread_ids
from tests.terminal_picture import PICTURE, draw, record

__all__ = ["spread_ids"]
ROOT = Path(__file__).parent.parent
START = "import sys; from scopes.cli.main import main; sys.exit(main())"
README = (ROOT / "README.md").read_text()


def list_commands():
    """Return the words of every `scopes` command in the README's console blocks."""
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL))
    return [
        shlex.split(line, comments=True)
        for line in re.findall(r"(?:^\$ |\$\(|^>   |\| )(scopes [^\n)|>]*)", blocks, re.MULTILINE)
    ]


@pytest.mark.parametrize("words", list_commands(), ids=" ".join)
def test_every_command_of_the_readme_exists_with_its_options(words):
    line = split_words(TABLE, words[1:])
    assert line.command is not None
    description = read_docs(line.command)
    known = {name for part in (*description.options, *GLOBAL_OPTIONS) for name in part.names}
    assert [
        word for word in before_separator(line.rest) if word.startswith("-") and word != "-" and word not in known
    ] == []


def list_lines():
    """Return every command line of the console blocks, a continued one in one piece, in the order of the page."""
    blocks = "".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL))
    return [line.replace("\n>", "\n") for line in re.findall(r"^\$ (.*(?:\n>.*)*)", blocks, re.MULTILINE)]


def make_executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.timeout(300)
def test_the_commands_of_the_readme_work_on_the_sample_one_after_the_other(tmp_path):
    """The sample is conv-001. A transcript of Claude Code is where it stores them, and becomes conv-002."""
    sessions, programs = tmp_path / ".claude" / "projects" / "shop", tmp_path / "bin"
    for directory in (sessions, programs):
        directory.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "faults" / "transcript.jsonl", sessions)
    fork_client = (
        ROOT / "tests" / "support" / "fork_client.py"
    )  # a start of its own for every command takes ten seconds
    client = f"{sys.executable} -I -S {fork_client} {tmp_path}/forks"
    make_executable(programs / "scopes", f'#!/bin/sh\nexec {client} "$@"\n')
    if shutil.which("jq") is None:
        make_executable(programs / "jq", "#!/bin/sh\nexec cat\n")
    (tmp_path / "scopes").symlink_to(ROOT / "scopes")  # in the clone
    sample = "export SCOPES_STORE=~/.local/share/scopes/sample.git"
    lines = ["scopes import --sample", sample, *list_lines()]
    # 1: nothing found, or different; 3: stopped on conflicts, as the page says
    check = 'code=$?; case $code in 0|1|3) ;; *) echo "error: exit code $code" >&2;; esac'
    lines = [f"(mkdir repo; cd repo; git init -q .; {line}\n)" if "scopes init" in line else line for line in lines]
    script = "\n".join(f"echo {shlex.quote('$ ' + line)} >&2\n{line}\n{check}" for line in lines)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SCOPES_"))}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}"}
    with fork_server.listen(tmp_path / "forks", START):
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "error:" not in done.stderr, done.stderr
    assert "fatal:" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert len(done.stdout) > 10_000


def test_the_picture_shows_what_the_commands_print():
    """Draw it again with: python -m tests.terminal_picture."""
    assert PICTURE.read_text() == draw(record())


def test_the_picture_loads_nothing_from_elsewhere():
    text = PICTURE.read_text()
    assert ET.fromstring(text).tag.endswith("svg")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_second_command_block_installs_and_runs_the_tests():
    """CI runs it as it stands: a block of commands before it would take its place."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert ".[dev]" in blocks[1]
    assert "-m pytest" in blocks[1]


def test_the_section_on_several_agents_works_as_it_is_printed(tmp_path, spread_ids):
    """Every command of it, in a store with one conversation."""
    conversation = Conversation(tmp_path)
    conversation.append("main", "The cookie is set twice.")
    section = README.partition("## Several agents")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ scopes (.*)$", section, re.MULTILINE)
    shown = {line: conversation.run(*shlex.split(line, comments=True)) for line in commands}
    assert len(shown) == 10
    (received,) = [text for line, text in shown.items() if line.startswith("inbox ann")]
    assert received.split("\t")[-1] == "Please read the cookie helper\n"
    (report,) = [text for line, text in shown.items() if line.startswith("collaborate show")]
    assert "Compromises: JWT, which bob would accept." in report
