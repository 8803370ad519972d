"""The README: its picture and its commands are real."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scopes.cli.command_docs import read_docs
from scopes.cli.command_line import split_words
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.table import TABLE
from tests.terminal_picture import PICTURE, draw, record

ROOT = Path(__file__).parent.parent
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
    description = read_docs(line.command.path)
    known = {name for part in (*description.options, *GLOBAL_OPTIONS) for name in part.names}
    assert [word for word in line.rest if word.startswith("-") and word != "-" and word not in known] == []


def test_the_picture_shows_what_the_commands_print():
    """Draw it again with: python -m tests.terminal_picture."""
    assert PICTURE.read_text() == draw(record())


def test_the_picture_loads_nothing_from_elsewhere():
    text = PICTURE.read_text()
    assert ET.fromstring(text).tag.endswith("svg")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
