"""Find the events of a run that the patterns of an own rule match."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scopes.check.calls import Call
from scopes.check.exit_status import read_status, runs_only_after
from scopes.check.findings import Event
from scopes.check.globs import matches_command, matches_word, may_match_below, may_match_glob
from scopes.check.own_rules import Outcome, Pattern
from scopes.check.rules.base import Settings, event_of, event_of_text, place_of
from scopes.check.rules.commands import match_of
from scopes.check.rules.file_reads import list_reads
from scopes.check.rules.net import fetched_addresses, host_of, hosts_of
from scopes.check.rules.tests import has_pipefail, is_last_of_its_shell, is_test, judge_test, runs_tests
from scopes.check.run import Run, Text
from scopes.check.shell_command import Command
from scopes.check.workspace import matches_in_workspaces, path_in_workspaces
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import FILE_WRITES

_AGENTS = ("subagent_type", "agent", "agent_type")
_FETCHERS = frozenset({"curl", "wget", "http", "https"})
_MOVING = frozenset({"delete", "copy"})
_SEARCHING = frozenset({"find", "gfind"})  # what they delete is that of their tests
_JUDGED = ("ok", "failed")
_OTHER_STATUS = compile_lazily(r"(?:^|[;&|({\n])\s*!\s|(?<![&>|\d])&(?![&>|])")  # `! make`, `make &`


class Place(NamedTuple):
    """Where an event is in a run: the number of its call or text, and which command of the call it is, if it is one."""

    number: int
    command: int | None = None

    def precedes(self, other: Place) -> bool:
        """Return True if the event is before another one; a call is neither before nor after its own commands."""
        if self.number != other.number:
            return self.number < other.number
        return self.command is not None and other.command is not None and self.command < other.command


class Found(NamedTuple):
    """An event that a pattern matched.

    attempted: the call was refused or failed, and the pattern has no outcome
    directory: where the command ran, relative to the workspace; None if it is no command
    """

    event: Event
    place: Place
    attempted: bool = False
    directory: str | None = None


class EventFinder:
    """Finds events in one run.

    Each command of a line is an event of its own for `run`, `edit` and `read`. For the other kinds a call is one event.
    matches_unknown: an event of which it is unknown how it ended matches `.ok` and `.failed`; otherwise neither
    """

    def __init__(self, run: Run, settings: Settings, *, matches_unknown: bool) -> None:
        self._run = run
        self._settings = settings
        self._matches_unknown = matches_unknown
        self._calls = {call.number: call for call in run.calls}

    def find(self, patterns: Sequence[Pattern]) -> list[Found]:
        """Return the events that one of some patterns matches, in the order of the run, each once."""
        steps: list[Call | Text] = sorted([*self._run.calls, *self._run.texts], key=lambda step: step.number)
        found: list[Found] = []
        for step in steps:
            if isinstance(step, Call):
                found += self._find_in_call(step, patterns)
            else:
                texts = (_match_text(pattern, step) for pattern in patterns)
                found += [each for each in texts if each is not None][:1]
        return found

    def runs_only_if_ok(self, found: Found, patterns: Sequence[Pattern]) -> bool:
        """Return True if the command of an event runs only after one of its line that a pattern matches passed.

        `git push` of `pytest && git push` does so, whatever became of the line. The outcome of the pattern is ignored.
        """
        call = self._calls.get(found.place.number)
        if call is None or call.shell is None or not found.place.command:
            return False
        last = call.commands[found.place.command]
        before = call.commands[: found.place.command]
        return any(
            self._is_command(pattern, each, call) and _is_guarded(call, each, last)
            for pattern in patterns
            for each in before
        )

    def _find_in_call(self, call: Call, patterns: Sequence[Pattern]) -> Sequence[Found]:
        by_place: dict[Place, Found] = {}
        for pattern in patterns:
            for found in self._match_commands(pattern, call):
                by_place.setdefault(found.place, found)
        if by_place:
            return [by_place[place] for place in sorted(by_place)]
        return next((matched for pattern in patterns if (matched := self._match_call(pattern, call))), [])

    def _match_commands(self, pattern: Pattern, call: Call) -> Iterator[Found]:
        """Yield the commands of a call that a pattern of commands or files matches."""
        if pattern.kind not in {"run", "edit", "read"}:
            return
        for position, command in enumerate(call.commands):
            text = self._text_of(pattern, command, call)
            if text is not None and self._has_ended(pattern.outcome, position, call):
                place = Place(call.number, position)
                attempted = call.attempted and not pattern.outcome
                yield Found(event_of(call, text), place, attempted, place_of(self._run, call, position))

    def _text_of(self, pattern: Pattern, command: Command, call: Call) -> str | None:
        """Return what a pattern matches in a command: its words or a path; None if it does not match."""
        if pattern.kind == "run":
            return match_of(command, call) if matches_command(pattern.text, command) else None
        paths = _written(command) if pattern.kind == "edit" else list_reads(command)
        is_found = any(self._is_path(pattern, each, command.directory) for each in paths)
        trees = [each.path for each in command.changes if each.is_tree and each.kind in _MOVING and call.shell]
        if pattern.kind == "edit" and command.program not in _SEARCHING:
            is_found = is_found or any(self._is_above(pattern, each, command.directory) for each in trees)
        return match_of(command, call) if is_found else None

    def _is_above(self, pattern: Pattern, path: str, directory: str | None) -> bool:
        """Return True if a directory, or what is in it, is above files that a pattern matches."""
        inside = path_in_workspaces(path.removesuffix("/{}"), directory, self._run.workspaces)
        return inside is not None and may_match_below(pattern.text, inside)

    def _is_path(self, pattern: Pattern, path: str, directory: str | None) -> bool:
        if matches_in_workspaces(pattern.text, path, directory, self._run.workspaces):
            return True
        inside = path_in_workspaces(path, directory, self._run.workspaces)
        return inside is not None and may_match_glob(pattern.text, inside)

    def _is_command(self, pattern: Pattern, command: Command, call: Call) -> bool:
        if pattern.kind == "test":
            return runs_tests(command, self._settings)
        return pattern.kind in {"run", "edit", "read"} and self._text_of(pattern, command, call) is not None

    def _match_call(self, pattern: Pattern, call: Call) -> list[Found]:
        """Return the one event of a call that a pattern matches; empty if it does not match."""
        if not self._has_outcome(pattern, call):
            return []
        attempted = call.attempted and not pattern.outcome
        match pattern.kind:
            case "edit" | "read":
                edits = (edit for edit in call.edits if (edit.op in FILE_WRITES) == (pattern.kind == "edit"))
                paths = (path for edit in edits for path in (edit.path, edit.source) if path is not None)
                path = next((each for each in paths if self._is_path(pattern, each, call.directory)), None)
                return [] if path is None else [Found(event_of(call, path), Place(call.number), attempted)]
            case "fetch":
                return [Found(event_of(call, url), place, attempted) for url, place in _fetched(pattern, call)][:1]
            case "test":
                found = is_test(call, self._settings)
                return [Found(event_of(call), self._place_of_tests(call), attempted)] if found else []
            case _:
                found = _is_tool(pattern, call) if pattern.kind == "tool" else _is_agent(pattern, call)
                return [Found(event_of(call), Place(call.number), attempted)] if found else []

    def _place_of_tests(self, call: Call) -> Place:
        """Return the place of the last command of a call that runs tests."""
        positions = [n for n, command in enumerate(call.commands) if runs_tests(command, self._settings)]
        return Place(call.number, positions[-1] if positions else None)

    def _has_outcome(self, pattern: Pattern, call: Call) -> bool:
        if pattern.kind != "test" or call.outcome == "denied" or not is_test(call, self._settings):
            return not pattern.outcome or call.outcome == pattern.outcome
        if pattern.outcome not in _JUDGED:
            return not pattern.outcome
        passed = judge_test(call, self._settings).passed
        return self._matches_unknown if passed is None else passed is (pattern.outcome == "ok")

    def _has_ended(self, outcome: Outcome, position: int, call: Call) -> bool:
        """Return True if a command ended as a pattern says: the exit code is that of its whole line."""
        line = call.shell or ""
        is_alone = len(call.commands) == 1 and _OTHER_STATUS.search(line) is None
        if outcome not in _JUDGED or call.outcome not in _JUDGED or is_alone:
            return not outcome or call.outcome == outcome
        status = read_status(line, [call.commands[position].text], pipefail=has_pipefail(call))
        is_passed = status.passed and is_last_of_its_shell(call, position)
        if is_passed if call.outcome == "ok" else status.failed:
            return call.outcome == outcome
        return self._matches_unknown


def _is_guarded(call: Call, first: Command, last: Command) -> bool:
    return runs_only_after(call.shell or "", first.text, last.text, pipefail=has_pipefail(call))


def _written(command: Command) -> Iterator[str]:
    """Yield the files that a command writes, links or deletes: its redirections, and what it changes by its words."""
    yield from (each.target for each in command.redirections if each.kind != "read" and each.target is not None)
    yield from (change.path for change in command.changes if change.kind != "directory")


def _match_text(pattern: Pattern, text: Text) -> Found | None:
    if pattern.expression is None or text.author_kind != "agent":
        return None
    span = pattern.expression(text.text)
    return None if span is None else Found(event_of_text(text, text.text[slice(*span)]), Place(text.number))


def _fetched(pattern: Pattern, call: Call) -> Iterator[tuple[str, Place]]:
    """Yield what a call fetches from a host that a pattern matches, with its place."""
    found: list[tuple[str, str, int | None]] = [(url, host_of(url) or "", None) for url in fetched_addresses(call)]
    for number, command in enumerate(call.commands):
        if command.program in _FETCHERS:
            urls = (word for word in command.argv[1:] if word is not None and "://" in word)
            found += [(url, host_of(url) or "", number) for url in urls]
        found += [(command.text, host, number) for host in hosts_of(command) if host]
    for text, host, position in found:
        if matches_word(pattern.text, host.lower()):
            yield text, Place(call.number, position)


def _is_agent(pattern: Pattern, call: Call) -> bool:
    """Return True if a call starts a sub-agent of the kind of a pattern."""
    given = call.call.fields.get("input")
    kinds = [given.get(name) for name in _AGENTS] if pattern.kind == "agent" and isinstance(given, dict) else []
    return any(isinstance(kind, str) and matches_word(pattern.text, kind) for kind in kinds)


def _is_tool(pattern: Pattern, call: Call) -> bool:
    given = call.call.fields.get("input")
    arguments = given if isinstance(given, dict) else {}
    return matches_word(pattern.text, call.name) and all(
        key in arguments and matches_word(glob, _text_of(arguments[key])) for key, glob in pattern.arguments
    )


def _text_of(value: Any) -> str:
    """Return an argument of a call as text: a JSON value that is no text as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
