"""What was done in messages, from their tool calls: changed files, the last test run, the last commit."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from posixpath import basename
from typing import NamedTuple

from scopes.model.file_edits import command_of
from scopes.model.message import Message, Part, file_operations
from scopes.model.tool_calls import is_refused

CHANGED, ENDED = "Changed: ", "Ended: "
_READING = frozenset({"read", "mention"})
_MAX_FILES = 4
_MAX_COMMAND, _MAX_SUBJECT = 480, 100
_MAX_COMMAND_IN_FACT = 60
_MAX_OUTPUT = 200_000
_MAX_CALL = 20_000
_TEST = re.compile(
    r"(?:^|[;&|(\n])[ \t]*"
    r"(?:(?:\w+=\S*|sudo|time|timeout \d+\w?|uv run|poetry run|pipenv run|npx|bundle exec)[ \t]+){0,5}"
    r"((?:(?:\S{0,200}/)?(?:python3? -m )?(?:pytest|unittest|go test|cargo (?:test|nextest)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? test\S*|make (?:test|check)\S*|mise run [\w:-]*test\S*"
    r"|tox|nox|jest|vitest|ctest|rspec|phpunit|(?:mvn|gradle|\./gradlew|dotnet|swift|deno) test)\b)"
    r"""(?:[ \t](?:[^\n;&|'"\\]|\\.|'[^'\n]*'|"(?:[^"\\\n]|\\.)*")*)?)"""  # a quoted `|` ends no command
)
_SHELL_OPTIONS = frozenset({"-c", "-lc"})
_REDIRECTION = re.compile(r" ?[0-9]?>+ ?\S*$")
_FAILED = re.compile(r"^(?:--- )?FAIL(?:ED|URES?)?\b|\b[1-9]\d* (?:failed|failures?|failing)\b", re.MULTILINE)
_EXIT_CODE = re.compile(
    r"\A(?:[^\n]*\n){0,4}?[^\n]*\b(?:exit(?:ed with)? code|exit_code)\D{0,4}(\d{1,9})", re.IGNORECASE
)
_COMMIT = re.compile(r"^\[([^\]\s]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (\S.*)$", re.MULTILINE)


class CheckRun(NamedTuple):
    """A run of tests; `exit_code` is None if it is not recorded."""

    command: str
    failed: bool
    exit_code: int | None = None


class Activity:
    """Collects what was done; messages are added oldest first."""

    def __init__(self) -> None:
        self._changed: Counter[str] = Counter()
        self._tests: dict[str, str] = {}
        self._last_test: tuple[str, bool] | None = None
        self._last_commit: tuple[str, str] | None = None

    def add(self, message: Message) -> None:
        """Add a message."""
        self._changed.update({path for path, operation in file_operations(message) if operation not in _READING})
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and isinstance(call_id, str):
                command = find_test_command(part)
                if command is not None:
                    self._tests[call_id] = command
            elif part.type == "tool_result":
                self._add_result(part, call_id)

    @property
    def last_test(self) -> str | None:
        """The outcome and the command of the last test run: `tests passed (pytest -q)`; None if there was none."""
        if self._last_test is None:
            return None
        command, failed = self._last_test
        if len(command) > _MAX_COMMAND_IN_FACT:
            command = f"{command[:_MAX_COMMAND_IN_FACT]}…"
        return f"tests {'failed' if failed else 'passed'} ({command})"

    @property
    def changed(self) -> list[str]:
        """The changed files, those that most messages changed first."""
        return sorted(self._changed, key=lambda path: (-self._changed[path], path))

    def changed_line(self) -> str | None:
        """Return a line with the names of the changed files; None if there are none."""
        paths = self.changed
        if not paths:
            return None
        names = list(dict.fromkeys(basename(path) or path for path in paths))
        more = f" and {len(names) - _MAX_FILES} more" if len(names) > _MAX_FILES else ""
        return f"{CHANGED}{', '.join(names[:_MAX_FILES])}{more}"

    def ended_line(self) -> str | None:
        """Return a line with the last test run and the last commit; None if there was neither."""
        facts = [] if self.last_test is None else [self.last_test]
        if self._last_commit is not None:
            facts.append("commit {} {}".format(*self._last_commit))
        return ENDED + "; ".join(facts) if facts else None

    def _add_result(self, part: Part, call_id: object) -> None:
        for match in _COMMIT.finditer(_output_of(part)):
            self._last_commit = match[2][:10], match[3].strip()[:_MAX_SUBJECT]
        command = self._tests.pop(call_id, None) if isinstance(call_id, str) else None
        run = None if command is None else read_test_run(command, part)
        if run is not None:
            self._last_test = run.command, run.failed


def find_test_command(call: Part) -> str | None:
    """Return the command of a tool call that runs tests, cut if it is very long; None if it runs none."""
    match = _TEST.search(_command_of(call)[:_MAX_CALL])
    if match is None:
        return None
    command = " ".join(match[1][:_MAX_COMMAND].split())
    return _REDIRECTION.sub("", command) if len(match[1]) <= _MAX_COMMAND else f"{command}…"


def read_test_run(command: str, result: Part) -> CheckRun | None:
    """Return the outcome of a command that ran tests, from the result of its call; None if the call was refused."""
    if is_refused(result):
        return None
    output = _output_of(result)
    known = result.fields.get("exit_code")
    if isinstance(known, bool) or not isinstance(known, int):
        match = _EXIT_CODE.search(output)
        known = None if match is None else int(match[1])
    failed = result.fields.get("is_error") is True or known not in {None, 0}
    return CheckRun(command, failed or _FAILED.search(output) is not None, known)


def _output_of(result: Part) -> str:
    return _text_of(result.fields.get("output", result.fields.get("output_text")))[-_MAX_OUTPUT:]


def _command_of(part: Part) -> str:
    """Return the shell command of a tool call; empty if it has none."""
    given = part.fields.get("input", part.fields.get("input_text"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(given, Mapping):
        return ""
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list | tuple):
        words = [word for word in command if isinstance(word, str)]
        return words[-1] if len(words) == 3 and words[1] in _SHELL_OPTIONS else " ".join(words)
    return command if isinstance(command, str) else command_of(part) or ""


def _text_of(output: object) -> str:
    return "\n".join(_walk_texts(output))


def _walk_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for name in ("stdout", "output", "text") if isinstance(text := value.get(name), str))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk_texts(item)
