"""Tool calls that ran `git commit`: what they printed, and which commit of the project they made.

A call made a commit only if the commit was authored while the call ran. That is what makes it sure: amend, rebase and
cherry-pick print the commits of other people in the same form. The author time and the subject stay when a commit is
rewritten, so that rewritten commits are found too.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scopes.clock import parse_time
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import Part
from scopes.model.tools import command_of

TOLERANCE: Final = 2.0  # seconds: commits have whole seconds, and agents write records a moment later
MAX_OUTPUT: Final = 200_000  # characters of an output that are searched
MAX_COMMAND: Final = 20_000
_SECOND: Final = 1_000_000_000  # nanoseconds
PRINTED_COMMIT: Final = "printed this commit"
_UNKNOWN_SECONDS: Final = 60.0  # a longer call is not linked: anybody may have committed meanwhile
MIN_SUBJECT: Final = 8  # characters; `wip` is in too many commands
_RUNS_COMMIT = compile_lazily(r"\bgit\b[^\n;|&]{0,300}?\bcommit\b|\b(?:gt|jj|sl|hub)\s+(?:commit|create|modify|ci)\b")
_PRINTED = compile_lazily(
    r"^[ \t]*\[(?P<branch>[^\]\n]{1,250}?) (?:\(root-commit\) )?(?P<id>[0-9a-f]{7,40})\] (?P<subject>[^\n]+)$",
    re.MULTILINE,
)


class CommitCall(NamedTuple):
    """A call that ran `git commit`, from its start to its result, in seconds since 1970.

    printed: the beginnings of object ids and the subjects that it printed
    has_result: False if the session ends with the call, was imported while it ran, or its result is missing
    """

    command: str
    began: float
    ended: float
    printed: tuple[tuple[str, str], ...] = ()
    has_result: bool = True


def may_commit(call: Part) -> bool:
    """Return True if a call runs a command line that may make a commit."""
    command = command_of(call)
    return command is not None and _RUNS_COMMIT.search(command[:MAX_COMMAND]) is not None


def read_commit_call(call: Part, result: Part, began: str | None, ended: str | None) -> CommitCall | None:
    """Return the commit call that a tool call and its result are; None if it runs no commit, or its time is unknown.

    began, ended: the times of the messages with the call and with the result
    """
    command = command_of(call)
    first, last = (None if time is None else parse_time(time) for time in (began, ended))
    if command is None or first is None or last is None or not may_commit(call):
        return None
    output = output_text(result)[:MAX_OUTPUT]
    printed = tuple(dict.fromkeys((found["id"], found["subject"].strip()) for found in _PRINTED.finditer(output)))
    return CommitCall(command[:MAX_COMMAND], first / _SECOND, last / _SECOND, printed)


def read_unanswered_call(call: Part, began: str | None, next_message: float | None) -> CommitCall | None:
    """Return the commit call of a tool call without a result, as `read_commit_call` does.

    It had ended when the next message began; without one, so long after it began as the hooks of a commit may take.
    """
    command, first = command_of(call), None if began is None else parse_time(began)
    if command is None or first is None or not may_commit(call):
        return None
    start = first / _SECOND
    ended = start + _UNKNOWN_SECONDS if next_message is None else max(start, next_message)
    return CommitCall(command[:MAX_COMMAND], start, ended, has_result=False)


def output_text(result: Part) -> str:
    """Return the text of a tool result, of several blocks joined by newlines."""
    output = result.fields.get("output")
    blocks = output if isinstance(output, list) else [output]
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def made_commit(call: CommitCall, commit: str, author_time: float, subject: str) -> str | None:
    """Return how a call shows that it made a commit, in a few words; None if it does not."""
    if not call.began - TOLERANCE <= author_time <= call.ended + TOLERANCE:
        return None
    return name_commit(call, commit, subject)


def name_commit(call: CommitCall, commit: str, subject: str) -> str | None:
    """Return how a call names a commit, whenever it ran; None if it does not."""
    if any(commit.startswith(start) for start, _ in call.printed):
        return PRINTED_COMMIT
    if any(subject == printed for _, printed in call.printed):
        return "printed this subject"
    if not call.printed and len(subject) >= MIN_SUBJECT and subject in call.command:
        return "names this subject"
    return None
