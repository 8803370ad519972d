"""What a rule is: an id, a level, a text for `--list RULE`, parameters, and a function that judges a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from scopes.check.calls import ANY_WORKSPACE, Call
from scopes.check.findings import Event, Finding, Level
from scopes.check.run import Run, Text
from scopes.check.workspace import relative_to
from scopes.secret_scan.shown import hide_secrets

FILE_NAME = "scopes-check.toml"
MAX_TEXT = 500  # characters of an event's text
TOP = "."  # the workspace as a place
_UNKNOWN = "?"


class Parameter(NamedTuple):
    """A parameter of a rule: its type is that of the default; None means a number that is not set."""

    name: str
    default: Any
    summary: str


class Unknown(NamedTuple):
    """A rule cannot be judged for a run, and why."""

    reason: str


class Settings(NamedTuple):
    """The settings of one rule: its level, its parameters with defaults filled in, and which commands are tests.

    workspaces: where commands must run to count as tests; empty for anywhere
    """

    level: Level
    parameters: Mapping[str, Any]
    tests: tuple[str, ...]
    tools_as_test: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()


Judge: TypeAlias = Callable[[Run, Settings], Iterable[Finding] | Unknown]


class Rule(NamedTuple):
    """A built-in rule.

    level: its level in the preset `recommended`
    summary: what a run must not do, or must have done, one line
    explanation: what it decides from, what it cannot see, how to allow what it reports
    needs_calls: False if it can be judged from an event stream that may lack calls
    requires: the parameter without which the rule does not apply
    strict, read_only: its level in these presets; None for the same
    """

    id: str
    level: Level
    summary: str
    explanation: str
    judge: Judge
    parameters: tuple[Parameter, ...] = ()
    needs_calls: bool = True
    strict: Level | None = None
    read_only: Level | None = None
    requires: str | None = None


def event_of(call: Call, text: str | None = None) -> Event:
    """Return the event of a call with its command, path or name; secrets are redacted before the text is cut."""
    if text is None:
        text = call.shell or ", ".join(edit.path for edit in call.edits) or call.name
    return Event(call.number, call.message, hide_secrets(text)[:MAX_TEXT])


def place_of(run: Run, call: Call, position: int | None = None) -> str:
    """Return where a call, or the command at a position of it, runs, relative to the workspace; `?` if that is hidden.

    A call without a recorded directory counts as one in the workspace. A directory outside of it is absolute.
    """
    directory = call.directory if position is None else call.directories[position]
    if directory is None:
        return TOP if position is None else _UNKNOWN
    return relative_to(directory, ANY_WORKSPACE if call.directory is None else run.directory) or directory


def event_of_text(text: Text, match: str | None = None) -> Event:
    """Return the event of a text."""
    return Event(text.number, text.message, hide_secrets(match or text.text)[:MAX_TEXT])
