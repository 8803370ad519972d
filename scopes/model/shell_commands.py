"""Recognize shell commands that write a file, whose text is then not recorded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_SEPARATORS = re.compile(r"\|\||&&|[;\n|]")
_PATCH = re.compile(r"^\*\*\* Begin Patch$.*?^\*\*\* End Patch$", re.MULTILINE | re.DOTALL)
_SETTING = re.compile(r"[A-Za-z_]\w*=\S*\s+")
_WRITERS = (  # a command that changes the files that it names, and its name in a report
    re.compile(r"(sed)\s.*?(-i|--in-place)\b"),
    re.compile(r"(perl)\s.*?(-\w*i)"),
    re.compile(r"(git)\s+(checkout|restore|apply|stash|reset|mv|rm|revert)\b"),
    re.compile(r"(gofmt|goimports)\s.*?(-w)\b"),
    re.compile(r"(prettier)\s.*?(--write)\b"),
    re.compile(r"(ruff)\s+(format)\b"),
    re.compile(r"(tee|mv|cp|rm|patch|rustfmt|black|truncate|dd)\s"),
)
FORMATTERS = frozenset({"gofmt -w", "prettier --write", "ruff format", "rustfmt", "black"})
"""Results of `find_writer` that only format a file: its text is then known except for white space and line breaks."""
_SPECIAL = re.compile(r"[*?\[\]{}$`~!;&|<>()\\#\n]")  # what a shell would expand, or begin another command with
_REMOVALS = {  # commands that remove files, with the options that change nothing about that
    ("rm",): {"-f", "-r", "-R", "-rf", "-fr", "-v", "-fv", "-vf", "--force", "--recursive", "--verbose"},
    ("git", "rm"): {"-f", "-r", "-rf", "-fr", "-q", "-fq", "-qf", "--force", "--quiet"},
}
_MOVE = re.compile(r"(?<![^\s;&|({])(?:cd|pushd|popd)(?![^\s;&|)}])")
MAX_COMMAND = 100_000  # characters that are looked at


def find_writer(command: str, name: str) -> str | None:
    """Return what changes the file with a name in a command line, such as `sed -i`; None if nothing known does."""
    for simple in _simple_commands(command):
        if name not in simple or (simple.startswith("git stash") and "git stash pop" in command):
            continue
        if re.search(rf">>?\s*['\"]?[^\s'\"]*{re.escape(name)}['\"]?(\s|\Z)", simple):
            return "> " + name
        for pattern in _WRITERS:
            match = pattern.match(simple)
            if match is not None:
                return " ".join(word for word in match.groups() if word)
    return None


def changes_directory(command: str) -> bool:
    """Return True if a command line seems to change the directory of its shell, as `cd src && make` does."""
    return _MOVE.search(command) is not None


def find_removed(command: str) -> str | None:
    """Return the path that a plain `rm PATH` or `git rm PATH` removes; None for every other command."""
    if len(command) > MAX_COMMAND or _SPECIAL.search(command.strip()):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for name, options in _REMOVALS.items():
        if tuple(words[: len(name)]) == name:
            given = words[len(name) :]
            while given and given[0] in options:
                del given[0]
            if given[:1] == ["--"]:
                del given[0]
            elif any(word.startswith("-") for word in given):
                return None
            return given[0] if len(given) == 1 and given[0] else None
    return None


def _simple_commands(command: str) -> Iterator[str]:
    for simple in _SEPARATORS.split(_PATCH.sub("", command[:MAX_COMMAND])):
        text = simple.strip()
        while match := _SETTING.match(text):
            text = text[match.end() :]
        yield " ".join(text.split())
