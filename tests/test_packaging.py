"""What an installation is called: the distribution is `scopes-ai`, the command and the package are `scopes`."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# `pip install scopes`, `pipx run 'scopes[tokens]'`, `uv add scopes`, and the name with one of our extras anywhere.
INSTALLERS = r"\b(?:pipx?|uvx?)\b(?:\s+(?:tool|pip))?\s+(?:install|inject|run|add|upgrade)\b(?:\s+-\S+)*"
OURS_ALONE = re.compile(INSTALLERS + r"\s+[\"'`]?scopes(?![\w.-])|\bscopes\[(?:tokens|regex|dev|all)\b")


def tracked_texts():
    """Yield the path and the text of every file in git that is text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path != Path(__file__) and path.is_file():
            yield name, path.read_bytes().decode("utf-8", "replace")


def test_the_distribution_is_scopes_ai_and_the_command_is_scopes():
    assert PROJECT["name"] == "scopes-ai"
    assert PROJECT["scripts"] == {"scopes": "scopes.cli.main:main"}


def test_no_text_names_a_distribution_scopes_to_install():
    """The name `scopes` on the package index belongs to another project."""
    assert [(name, found.group()) for name, text in tracked_texts() for found in OURS_ALONE.finditer(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install scopes",
        "pip install -q 'scopes[tokens]'",
        "pipx run scopes",
        "uv tool install scopes",
        "scopes[regex]",
    ],
)
def test_the_forms_that_are_looked_for_are_found(text):
    assert OURS_ALONE.search(text)


@pytest.mark.parametrize(
    "text", ["pip install 'scopes-ai[tokens]'", "pipx install scopes-ai", "pip install .", "scopes[0]"]
)
def test_the_right_name_and_other_words_are_not_found(text):
    assert OURS_ALONE.search(text) is None


def test_every_extra_that_a_text_names_exists():
    extras = set(PROJECT["optional-dependencies"])
    named = {extra for _, text in tracked_texts() for extra in re.findall(r"scopes-ai\[(\w+)\]", text)}
    assert named <= extras
    assert "tokens" in named
