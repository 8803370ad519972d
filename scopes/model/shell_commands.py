"""Recognize shell commands: those that write a file without recording its text, and those that run tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SEPARATORS = re.compile(r"\|\||&&|[;\n|]")
_SETTING = re.compile(r"[A-Za-z_]\w*=\S*\s+")
_CAPTURED = re.compile(r"\s*\d?>&\d|\s+\d?>\s*/dev/null")
_WRITERS = (  # a command that changes the files that it names, and its name in a report
    re.compile(r"(sed)\s.*?(-i|--in-place)\b"),
    re.compile(r"(perl)\s.*?(-\w*i)"),
    re.compile(r"(git)\s+(checkout|restore|apply|stash|reset|mv|rm|revert)\b"),
    re.compile(r"(gofmt|goimports)\s.*?(-w)\b"),
    re.compile(r"(prettier)\s.*?(--write)\b"),
    re.compile(r"(ruff)\s+(format)\b"),
    re.compile(r"(tee|mv|cp|rm|patch|rustfmt|black|truncate|dd)\s"),
)
_TESTS = (  # the words that stay in a report, and what may stand between them and the rest of the command
    re.compile(r"(?:uv run |poetry run |python3? -m |\S*/)?(pytest)\b.*"),
    re.compile(r"(?:\S*/)?python3? -m (unittest)\b.*"),
    re.compile(r"(go test)\b.*"),
    re.compile(r"(?:npx |yarn |pnpm |npm exec )?(jest|vitest|mocha|ava|playwright test)\b.*"),
    re.compile(r"((?:npm|pnpm|yarn|bun)(?: run)? test)\b.*"),
    re.compile(r"(cargo (?:test|nextest run))\b.*"),
    re.compile(r"((?:make|just|mise run|task|gradle|./gradlew|mvn|dotnet|mix|swift|bazel|deno|rake) test)\b.*"),
    re.compile(r"(?:bundle exec )?(rspec|rake)\b.*"),
    re.compile(r"(tox|nox|ctest|phpunit)\b.*"),
)
MAX_COMMAND = 100_000  # characters that are looked at
_MAX_SHOWN = 60


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


def find_test_run(command: str) -> str | None:
    """Return the last command of a command line that runs tests, without settings; None if there is none."""
    found = None
    for simple in _simple_commands(command):
        text = _CAPTURED.sub("", simple).strip()
        if any(pattern.fullmatch(text) for pattern in _TESTS):
            found = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
    return found


def _simple_commands(command: str) -> Iterator[str]:
    for simple in _SEPARATORS.split(command[:MAX_COMMAND]):
        text = simple.strip()
        while match := _SETTING.match(text):
            text = text[match.end() :]
        yield " ".join(text.split())
