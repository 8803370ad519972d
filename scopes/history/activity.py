"""What messages say of the work: token counts, tool calls and results, changed files, tests, compactions, acceptances.

Token counts are those that model providers reported; nothing is estimated here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import chain, takewhile
from posixpath import basename
from typing import NamedTuple, Self

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    header_of,
    message_id_of,
    read_body,
    subject_of,
    walk_headers_newest_first,
)
from scopes.history.names import list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import PURGED, PURGED_TEXT, Message, Part, file_operations
from scopes.model.tools import command_of, is_refused, summarize_calls, touches_of_call
from scopes.result import shown
from scopes.store.graph import is_ancestor
from scopes.store.objects import Commit, Objects, one_line, read_commit
from scopes.store.repository import Repository


class Tokens(NamedTuple):
    """The tokens of some answers; None for a count that none of them recorded.

    Input is uncached, read from a cache or written to it. `output` includes `reasoning`, as providers count it.
    """

    answers: int = 0
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    @shown
    def input(self) -> int | None:
        """All input tokens, cached or not; None if unknown."""
        known = [count for count in (self.input_uncached, self.cache_read, self.cache_write) if count is not None]
        return sum(known) if known else None

    def plus(self, other: Self) -> Self:
        """Return the sum; unknown counts are left out."""
        sums = (left if right is None else right + (left or 0) for left, right in zip(self[1:], other[1:], strict=True))
        return type(self)(self.answers + other.answers, *sums)


def tokens_of(message: Message) -> Tokens | None:
    """Return the recorded tokens of a message; None if it has none."""
    usage = message.extra.get("usage")
    if not isinstance(usage, Mapping):
        return None
    counts = [count_of(usage.get(name)) for name in Tokens._fields[1:]]
    return Tokens(1, *counts) if any(count is not None for count in counts) else None


def count_of(value: object) -> int | None:
    """Return a recorded count; None if the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def add_up(tokens: Iterable[Tokens]) -> Tokens | None:
    """Return the sum; None if there is nothing to add."""
    found = list(tokens)
    return reduce(Tokens.plus, found) if found else None


TOOL_RESULTS = "tool-results"
BETWEEN_CALL_AND_RESULT = frozenset({TOOL_RESULTS, "system", "meta", "notice", "error"})  # kinds of message
MAX_RESULTS = 64
_TOOL = "tool"  # kind of author


class ToolResultTracker:
    """Finds the results of tool calls in a walk from children to parents, in which results come before their calls."""

    def __init__(self) -> None:
        self._results_after: dict[Oid, tuple[Oid, ...]] = {}

    def visit(self, head: MessageHeader) -> tuple[Oid, ...]:
        """Visit the next message; return the messages with the results of its calls, nearest first, at most 64."""
        results = self._results_after.pop(head.oid, ())
        if head.kind not in BETWEEN_CALL_AND_RESULT:
            return results
        pending = (head.oid, *results) if head.kind == TOOL_RESULTS else results
        for parent in head.parents[:1]:
            self._results_after[parent] = (*pending, *self._results_after.get(parent, ()))[:MAX_RESULTS]
        return ()


def _walk_above(objects: Objects, parents: Sequence[Oid]) -> Iterator[Commit]:
    """Yield the next commits above, by first parents, as many as the results of a call may be away from it."""
    for _ in range(MAX_RESULTS):
        if not parents:
            return
        commit = read_commit(objects, parents[0])
        yield commit
        parents = commit.parents


def _read_parts(objects: Objects, commit: Commit) -> Sequence[Part]:
    with suppress(Corrupt, NotFound):  # a commit of another program
        return read_body(objects, commit).parts
    return ()


def find_call_message(objects: Objects, results: MessageHeader) -> MessageHeader | None:
    """Return the next ancestor that is neither by a tool nor a notice between a call and its results."""
    for above in map(header_of, _walk_above(objects, results.parents)):
        if above.kind not in BETWEEN_CALL_AND_RESULT and above.author_kind != _TOOL:
            return above
    return None


class FoundCall(NamedTuple):
    """A tool call, and where it is: the message, and the number of the part in it.

    has_purged_result: a result with its id, between the call and the one that it was looked up for, was purged
    """

    message: MessageId
    number: int
    part: Part
    has_purged_result: bool = False


def find_call(objects: Objects, head: MessageHeader, message: Message, number: int) -> FoundCall | None:
    """Return the tool call that a part of a message is the result of: the nearest one above it with its id.

    It is looked for in the parts before it and in the next 64 messages above. None if none of them has it.
    """
    wanted = message.parts[number].fields.get("call_id")
    above = ((message_id_of(commit), _read_parts(objects, commit)) for commit in _walk_above(objects, head.parents))
    has_purged_result = False
    for name, parts in chain([(head.id, message.parts[:number])], above):
        for place in range(len(parts) - 1, -1, -1):
            part = parts[place]
            if part.fields.get("call_id") == wanted and part.type == "tool_call":
                return FoundCall(name, place, part, has_purged_result)
            if part.fields.get("call_id") == wanted and part.type == "tool_result":
                has_purged_result = has_purged_result or part.fields.get(PURGED) is True
    return None


def with_summary(objects: Objects, head: MessageHeader) -> MessageHeader:
    """Return the header of a message with a subject that says what a message without text does.

    That is its document, its first tool call (`→ Bash make test · 1 more`), or the first call that its results answer.
    """
    if head.subject != NO_TEXT:
        return head
    message = read_body(objects, head)
    subject = subject_of(head, message)
    if subject == NO_TEXT:
        subject = summarize_calls(message) or _summarize_answered(objects, head, message) or NO_TEXT
    return head._replace(subject=one_line(subject))


def _summarize_answered(objects: Objects, head: MessageHeader, message: Message) -> str:
    """Return the summary of the calls that the results of a message answer; empty if there are none."""
    answered = results_by_id(message.parts)
    call = find_call_message(objects, head) if answered else None
    if call is None:
        return ""
    calls = read_body(objects, call)
    parts = tuple(part for call_id, part in calls_by_id(calls.parts).items() if call_id in answered)
    summary = summarize_calls(replace(calls, parts=parts))
    return f"result of {summary}" if summary else ""


def calls_by_id(parts: Iterable[Part], kind: str = "tool_call") -> dict[str, Part]:
    """Return the tool calls among parts, by their ids; those without an id are left out."""
    found = ((part.fields.get("call_id"), part) for part in parts if part.type == kind)
    return {call_id: part for call_id, part in found if isinstance(call_id, str)}


def results_by_id(parts: Iterable[Part]) -> dict[str, Part]:
    """Return the tool results among parts, by the ids of their calls; those without one are left out."""
    return calls_by_id(parts, "tool_result")


def with_touched_files(objects: Objects, tip: Oid, message: Message) -> Message:
    """Return a message of tool results with the files that the successful calls touched, as importers set them (S1-2).

    The calls are in the message itself, or in one of the last messages of the history of `tip`. A message that names
    files is returned unchanged.
    """
    successful = {call_id: part for call_id, part in results_by_id(message.parts).items() if not is_failed(part)}
    if message.files or not successful:
        return message
    calls = calls_by_id(message.parts)
    for commit in _walk_above(objects, [tip]):
        if successful.keys() <= calls.keys():
            break
        calls = {**calls_by_id(_read_parts(objects, commit)), **calls}
    touches = [
        touch
        for call_id, result in successful.items()
        if call_id in calls
        for touch in touches_of_call(calls[call_id], result)
    ]
    return replace(message, files=tuple(dict.fromkeys(touches)))


def is_failed(result: Part) -> bool:
    """Return True if a tool result is an error, or has an exit code other than 0."""
    return result.fields.get("is_error") is True or result.fields.get("exit_code") not in (None, 0)


CHANGED, ENDED = "Changed: ", "Ended: "
_READING = frozenset({"read", "mention"})
_MAX_FILES = 4
_MAX_COMMAND, _MAX_SUBJECT = 480, 100
_MAX_COMMAND_IN_FACT = 60
_MAX_OUTPUT = 200_000
_MAX_CALL = 20_000
_TEST = compile_lazily(
    r"(?:^|[;&|(\n])[ \t]*"
    r"(?:(?:\w+=\S*|sudo|time|timeout \d+\w?|uv run|poetry run|pipenv run|npx|bundle exec)[ \t]+){0,5}"
    r"((?:(?:\S{0,200}/)?(?:python3? -m )?(?:pytest|unittest|go test|cargo (?:test|nextest)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? test\S*|make (?:test|check)\S*|mise run [\w:-]*test\S*"
    r"|tox|nox|jest|vitest|ctest|rspec|phpunit|(?:mvn|gradle|\./gradlew|dotnet|swift|deno) test)\b)"
    r"""(?:[ \t](?:[^\n;&|'"\\]|\\.|'[^'\n]*'|"(?:[^"\\\n]|\\.)*")*)?)"""  # a quoted `|` ends no command
)
_REDIRECTION = compile_lazily(r" ?[0-9]?>+ ?\S*$")
_FAILED = compile_lazily(r"^(?:--- )?FAIL(?:ED|URES?)?\b|\b[1-9]\d* (?:failed|failures?|failing)\b", re.MULTILINE)
_EXIT_CODE = compile_lazily(
    r"\A(?:[^\n]*\n){0,4}?[^\n]*\b(?:exit(?:ed with)? code|exit_code)\D{0,4}(\d{1,9})", re.IGNORECASE
)
_COMMIT = compile_lazily(r"^\[([^\]\s]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (\S.*)$", re.MULTILINE)


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
        if command is not None and not is_refused(part):
            self._last_test = command, _has_failed(part)


def find_test_command(call: Part) -> str | None:
    """Return the command of a tool call that runs tests, cut if it is very long; None if it runs none."""
    match = _TEST.search((command_of(call) or "")[:_MAX_CALL])
    if match is None:
        return None
    command = " ".join(match[1][:_MAX_COMMAND].split())
    return _REDIRECTION.sub("", command) if len(match[1]) <= _MAX_COMMAND else f"{command}…"


def _has_failed(result: Part) -> bool:
    """Return True if a run of tests has failed, by its exit code or by what it has printed."""
    output = _output_of(result)
    code = result.fields.get("exit_code")
    if isinstance(code, bool) or not isinstance(code, int):
        match = _EXIT_CODE.search(output)
        code = None if match is None else int(match[1])
    return result.fields.get("is_error") is True or code not in {None, 0} or _FAILED.search(output) is not None


def _output_of(result: Part) -> str:
    return "\n".join(_walk_texts(result.fields.get("output", result.fields.get("output_text"))))[-_MAX_OUTPUT:]


def _walk_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for name in ("stdout", "output", "text") if isinstance(text := value.get(name), str))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk_texts(item)


SUMMARIES = frozenset({"summary", "compaction"})
SUMMARY = "summary"
SILENT = SUMMARIES | {"tool-results", "system", "meta", "notice", "interrupt"}


def is_news(head: MessageHeader) -> bool:
    """Return True if a message has content that a summary would cover, judged by its commit."""
    has_content = head.subject not in {NO_TEXT, PURGED_TEXT}
    return head.kind not in SILENT and head.author_kind != "injected" and has_content


def count_since(
    repository: Repository, conversation: ConversationId, summary: MessageHeader, branches: Iterable[str]
) -> int | None:
    """Count the messages with content after a summary, on the first branch that has it; None if none has it."""
    tips = list_branch_tips(repository, conversation)
    for branch in map(BranchName, branches):
        if branch in tips and is_ancestor(repository, summary.oid, tips[branch]):
            heads = walk_headers_newest_first(repository, [tips[branch]])
            return sum(map(is_news, takewhile(lambda head: head.oid != summary.oid, heads)))
    return None
