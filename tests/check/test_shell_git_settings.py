"""Files of settings of git: `git config --list` is the oracle of their reader."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.check.shell import parse_commands
from scopes.check.shell_git_settings import parse_settings

FILES = [
    "",
    "[alias]\n\tz = !mark\n",
    "[alias]z=status",
    "[ALIAS]\nZ = Status\n",
    '[remote "Origin"]\n\tpush = +main\n\turl=x # y\n',
    '[remote "a\\"b"]\n\turl = x\n',
    '[a "b]c"] d = e\n',
    "[core]\n\thooksPath = /x ; c\n\tbare\n",
    "[core] editor = \"a # b\" c # d\n",
    '[a]\nb = " c "\nd =  e  f  \n',
    "[a]\nb = c\\\nd\n",
    "[a]\nb = \\\\ \\t\\n\\\"\n",
    "# x\n; y\n[a]\n\n\tb = c\n",
    "[a.B]\nc = d\n",
    "[a]\nb =\nc\n",
    "[a]\r\nb = c\r\n",
]  # fmt: skip
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git_settings(directory, text):
    """Return what git reads in a file; None if it refuses it."""
    (directory / "config").write_bytes(text.encode())
    listed = subprocess.run(
        ["git", "config", "-f", "config", "--list", "-z"], cwd=directory, capture_output=True, check=False
    )
    if listed.returncode:
        return None
    pairs = [each.partition("\n") for each in listed.stdout.decode().split("\0")[:-1]]
    return [(key, value if newline else "true") for key, newline, value in pairs]


@needs_git
@pytest.mark.parametrize("text", FILES)
@pytest.mark.cases(16)
def test_a_file_is_read_as_git_reads_it(tmp_path, text):
    expected = git_settings(tmp_path, text)
    assert expected is not None
    assert list(parse_settings(text)) == expected


@needs_git
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["[a]", "\n", "b", "=", " ", "c", '"', "\\", "\\n", "#", ";", '[a "s"]', "\t", "x = y"]),
        max_size=10,
    )
)
def test_what_git_accepts_is_read_alike(tmp_path_factory, pieces):
    text = "".join(pieces)
    expected = git_settings(tmp_path_factory.mktemp("config"), text)
    if expected is not None:  # older versions write a blank for a tab in a value
        assert [(key, value.replace("\t", " ")) for key, value in parse_settings(text)] == [
            (key, value.replace("\t", " ")) for key, value in expected
        ]


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("printf '[alias]\\nz = push -f\\n' >> .git/config; git z origin", {("git", "push", "-f", "origin")}),
        ("git config alias.z 'push -f'; git z origin", {("git", "push", "-f", "origin")}),
        ("printf '[alias]\\nz = push\\n' > h; GIT_CONFIG_GLOBAL=h git -C x z", {("git", "push")}),
        ("git config alias.z push; git config --unset alias.z; git y", {("git", "y")}),
        ("git config --get alias.z; git z", {("git", "z")}),
        ("printf '[alias]\\nz = push\\n' > other; git z", {("git", "z")}),
    ],
)
def test_an_alias_of_a_file_is_what_it_stands_for(line, programs):
    argvs = {each.argv for each in parse_commands(line, "/w") if each.argv[:2] != ("git", "config")}
    assert programs <= argvs


@pytest.mark.parametrize(
    "line",
    [
        "cp x .git/config; git status",
        "sed -i s/a/b/ ~/.gitconfig; git status",
        "curl -o .git/config x; git log",
        "GIT_CONFIG_GLOBAL=team.config git log",
        "GIT_CONFIG_SYSTEM=$x git log",
        "cd .git; mv ../x config; cd ..; git log",
        "git config foo.z 'push --force'; git config --rename-section foo alias; git z",
        "git config color.z 'push --force'; git config rename-section color alias; git z",
        "; ".join(f"git config alias.a{number} status" for number in range(100))
        + "; git config alias.z 'push -f'; git z",
    ],
)
def test_git_is_opaque_with_settings_that_nobody_can_read(line):
    assert parse_commands(line, "/w")[-1].opaque is not None


@pytest.mark.parametrize(
    "line",
    [
        "cp x config/a; git status",
        "cp x src/config; git log",
        "GIT_CONFIG_GLOBAL= git log",
        "cp x gitconfig.md; git log",
    ],
)
def test_other_files_change_nothing_about_git(line):
    assert parse_commands(line, "/w")[-1].opaque is None
