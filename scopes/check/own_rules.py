"""Rules of a policy in a small language: which events a run must have, or must not have, and in which order.

    expect = "never run(git push **) until test.ok"
    expect = "run(alembic upgrade **) needs run(pg_dump **).ok before"

Events: `run(WORDS)`, `edit(GLOB)`, `read(GLOB)`, `tool(NAME, key=GLOB)`, `fetch(HOST)`, `text(/REGEX/)`, `agent(TYPE)`
and `test`, each with `.ok`, `.failed` or `.denied` if wanted; `|` separates alternatives. Whether a test run passed is
read as in order/tests-passed.
Forms: `never A`, `never A until B`, `never A after B`, `some A`, `A needs B before`, `A needs B after`,
`last A after last B`, `at most N A`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from scopes.check.calls import Call
from scopes.check.findings import Event
from scopes.check.globs import matches_command, matches_word
from scopes.check.rules.base import Settings, Unknown, event_of, event_of_text, place_of
from scopes.check.rules.commands import match_of
from scopes.check.rules.net import fetched_addresses, host_of, hosts_of
from scopes.check.rules.tests import is_test, judge_test
from scopes.check.run import Run, Text
from scopes.check.shell import parse_commands
from scopes.check.workspace import matches_in_workspaces
from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily
from scopes.loading import load
from scopes.model.message import FILE_WRITES

if TYPE_CHECKING:
    from scopes.search.regex import Matcher

Outcome: TypeAlias = Literal["", "ok", "failed", "denied"]
KINDS: Final = ("run", "edit", "read", "tool", "fetch", "text", "agent", "test")
_EVENT = compile_lazily(r"(?P<kind>[a-z]+)(?P<open>\()?")
_OUTCOME = compile_lazily(r"\.(ok|failed|denied)\b")
_OUTCOMES: Final[dict[str, Outcome]] = {"ok": "ok", "failed": "failed", "denied": "denied"}
_COUNT = compile_lazily(r"at most (\d{1,6}) ")
_WORDS = ("never", "some", "last", "at")  # that a form begins with
_AGENTS = ("subagent_type", "agent", "agent_type")


class Pattern(NamedTuple):
    """One event pattern; `arguments` are the name and globs of a tool, by key."""

    kind: str
    text: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    outcome: Outcome = ""
    expression: Matcher | None = None


class Expectation(NamedTuple):
    """A parsed rule: its form, the patterns of A and B (alternatives), and the number of `at most`."""

    form: str
    first: tuple[Pattern, ...]
    second: tuple[Pattern, ...] = ()
    limit: int = 0


def parse_expectation(text: str) -> Expectation:
    """Parse the text of a rule.

    Raises:
        Invalid: it is in none of the forms, or an event is unknown; the message has the column, from 1.
    """
    return _Parser(text).parse()


def matches_line(pattern: Pattern, line: str) -> bool:
    """Return True if a `run` pattern matches one of the commands of a command line."""
    return pattern.kind == "run" and any(matches_command(pattern.text, each) for each in parse_commands(line))


class Breach(NamedTuple):
    """One breach of an own rule: what is wrong, and the events that show it.

    attempted: the call of the first event was refused or failed
    directory: where the command of the first event ran, relative to the workspace; None if it is no command
    """

    text: str
    events: tuple[Event, ...] = ()
    attempted: bool = False
    directory: str | None = None


def find_breaches(wanted: Expectation, run: Run, settings: Settings) -> tuple[list[Breach] | Unknown, int]:
    """Return the breaches of an own rule, and how many events its patterns matched.

    Test runs of which it is unknown whether they passed count as both; they make the rule unknown if it would be kept
    without them and broken with them, or the other way round.

    Raises:
        TooSlow: a regular expression exceeded the time limit.
    """
    with_unknown, count = _find_breaches(wanted, run, settings, matches_unknown=True)
    patterns = (*wanted.first, *wanted.second)
    if not any(pattern.kind == "test" and pattern.outcome in {"ok", "failed"} for pattern in patterns):
        return with_unknown, count
    without_unknown, _ = _find_breaches(wanted, run, settings, matches_unknown=False)
    if bool(with_unknown) != bool(without_unknown):
        return Unknown("it is not known whether a test run passed"), count
    return min(with_unknown, without_unknown, key=len), count


def _find_breaches(
    wanted: Expectation, run: Run, settings: Settings, *, matches_unknown: bool
) -> tuple[list[Breach], int]:
    first, second = (
        list(_find(patterns, run, settings, matches_unknown=matches_unknown))
        for patterns in (wanted.first, wanted.second)
    )
    return list(_FORMS[wanted.form](wanted, first, second)), len(first) + len(second)


_Match: TypeAlias = tuple[Event, str | None]  # an event, and where its command ran
_Found: TypeAlias = tuple[Event, bool, str | None]  # with whether it was only attempted in the middle


def _breach(text: str, *found: _Found) -> Breach:
    first = found[0] if found else (None, False, None)
    return Breach(text, tuple(each[0] for each in found), *first[1:])


def _never(_: Expectation, first: list[_Found], __: list[_Found]) -> Iterator[Breach]:
    yield from (_breach("this must not happen", found) for found in first)


def _never_until(_: Expectation, first: list[_Found], second: list[_Found]) -> Iterator[Breach]:
    end = min((found[0].number for found in second), default=None)
    for found in first:
        if end is None or found[0].number < end:
            yield _breach("this must not happen before the other event", found, *second[:1])


def _never_after(_: Expectation, first: list[_Found], second: list[_Found]) -> Iterator[Breach]:
    start = min((found[0].number for found in second), default=None)
    for found in first:
        if start is not None and found[0].number > start:
            yield _breach("this must not happen after the other event", found, second[0])


def _some(_: Expectation, first: list[_Found], __: list[_Found]) -> Iterator[Breach]:
    if not first:
        yield _breach("this must happen, and did not")


def _needs_before(_: Expectation, first: list[_Found], second: list[_Found]) -> Iterator[Breach]:
    start = min((found[0].number for found in second), default=None)
    for found in first:
        if start is None or start >= found[0].number:
            yield _breach("the event that must come before it is missing", found)


def _needs_after(_: Expectation, first: list[_Found], second: list[_Found]) -> Iterator[Breach]:
    end = max((found[0].number for found in second), default=0)
    for found in first:
        if end <= found[0].number:
            yield _breach("the event that must come after it is missing", found)


def _last_after_last(_: Expectation, first: list[_Found], second: list[_Found]) -> Iterator[Breach]:
    if second and (not first or first[-1][0].number < second[-1][0].number):
        yield _breach("the last one must come after the last other event", second[-1], *first[-1:])


def _at_most(wanted: Expectation, first: list[_Found], _: list[_Found]) -> Iterator[Breach]:
    if len(first) > wanted.limit:
        yield _breach(f"this happened {len(first)} times, at most {wanted.limit} allowed", first[wanted.limit])


_FORMS: dict[str, Callable[[Expectation, list[_Found], list[_Found]], Iterator[Breach]]] = {
    "never": _never,
    "never until": _never_until,
    "never after": _never_after,
    "some": _some,
    "needs before": _needs_before,
    "needs after": _needs_after,
    "last after last": _last_after_last,
    "at most": _at_most,
}


def _find(patterns: Sequence[Pattern], run: Run, settings: Settings, *, matches_unknown: bool) -> Iterator[_Found]:
    """Yield the events that one of some patterns matches, in the order of the run."""
    steps: list[Call | Text] = sorted([*run.calls, *run.texts], key=lambda step: step.number)
    for step in steps:
        for pattern in patterns:
            if isinstance(step, Call) and not _has_outcome(pattern, step, settings, unknown=matches_unknown):
                continue
            matched = _match(pattern, step, run, settings)
            if matched is not None:
                event, directory = matched
                yield event, isinstance(step, Call) and step.attempted and not pattern.outcome, directory
                break


def _has_outcome(pattern: Pattern, call: Call, settings: Settings, *, unknown: bool) -> bool:
    """Return True if a call has the outcome of a pattern; `unknown` if nothing shows whether its tests passed."""
    if pattern.kind != "test" or call.outcome == "denied" or not is_test(call, settings):
        return not pattern.outcome or call.outcome == pattern.outcome
    if pattern.outcome not in {"ok", "failed"}:
        return not pattern.outcome
    passed = judge_test(call, settings).passed
    return unknown if passed is None else passed is (pattern.outcome == "ok")


def _match(pattern: Pattern, step: Call | Text, run: Run, settings: Settings) -> _Match | None:
    if isinstance(step, Text):
        if pattern.expression is None or step.author_kind != "agent":
            return None
        span = pattern.expression(step.text)
        return None if span is None else (event_of_text(step, step.text[slice(*span)]), None)
    if pattern.kind == "run":
        for position, command in enumerate(step.commands):
            if matches_command(pattern.text, command):
                return event_of(step, match_of(command, step)), place_of(run, step, position)
        return None
    event = _match_call(pattern, step, run, settings)
    return None if event is None else (event, None)


def _match_call(pattern: Pattern, call: Call, run: Run, settings: Settings) -> Event | None:
    match pattern.kind:
        case "edit" | "read":
            edits = (edit for edit in call.edits if (edit.op in FILE_WRITES) == (pattern.kind == "edit"))
            paths = (path for edit in edits for path in (edit.path, edit.source) if path is not None)
            found = (
                each for each in paths if matches_in_workspaces(pattern.text, each, call.directory, run.workspaces)
            )
            return next((event_of(call, each) for each in found), None)
        case "fetch":
            reached = ((url, host_of(url) or "") for url in _urls(call))
            others = ((each.text, host) for each in call.commands for host in hosts_of(each) if host)
            found = (text for text, host in (*reached, *others) if matches_word(pattern.text, host.lower()))
            return next((event_of(call, text) for text in found), None)
        case _:
            return event_of(call) if _fits(pattern, call, settings) else None


def _fits(pattern: Pattern, call: Call, settings: Settings) -> bool:
    """Return True if a pattern of a tool, a sub-agent or a test matches a call."""
    if pattern.kind == "tool":
        return _is_tool(pattern, call)
    if pattern.kind == "test":
        return is_test(call, settings)
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


def _urls(call: Call) -> Iterator[str]:
    yield from fetched_addresses(call)
    for command in call.commands:
        if command.program in {"curl", "wget", "http", "https"}:
            yield from (word for word in command.argv[1:] if word is not None and "://" in word)


class _Parser:
    """Reads one rule from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0

    def parse(self) -> Expectation:
        self._require_form()
        if self._take("never "):
            first = self._events()
            for word in ("until", "after"):
                if self._take(f" {word} "):
                    return self._end(Expectation(f"never {word}", first, self._events()))
            return self._end(Expectation("never", first))
        if self._take("some "):
            return self._end(Expectation("some", self._events()))
        if self._take("last "):
            first = self._events()
            self._require(" after last ")
            return self._end(Expectation("last after last", first, self._events()))
        found = _COUNT.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            return self._end(Expectation("at most", self._events(), limit=int(found[1])))
        first = self._events()
        self._require(" needs ")
        second = self._events()
        for word in ("before", "after"):
            if self._take(f" {word}"):
                return self._end(Expectation(f"needs {word}", first, second))
        raise self._mistake("`before` or `after` is missing")

    def _require_form(self) -> None:
        """Refuse a text that begins with neither the word of a form nor an event."""
        if not self._text:
            raise self._mistake("the rule is empty")
        word = self._text.partition(" ")[0]
        rest = self._text[len(word) + 1 :].lstrip()
        if word in _WORDS and not rest:
            self._at = len(self._text)
            raise self._mistake(f"an event is missing: one of {', '.join(KINDS)}")
        if self._text.startswith("at most ") and _COUNT.match(self._text) is None:
            self._at = len("at most ")
            raise self._mistake(f"a number is missing: {self._text[self._at :].partition(' ')[0]!r} is none")
        if rest and word.isalpha() and word not in {*_WORDS, *KINDS}:
            near = load("difflib:get_close_matches")(word, _WORDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else None
            raise self._mistake(f"a rule begins with an event, or one of {', '.join(_WORDS)}: {word!r} is none", hint)

    def _events(self) -> tuple[Pattern, ...]:
        found = [self._event()]
        while self._take(" | ") or self._take("|"):
            found.append(self._event())
        return tuple(found)

    def _event(self) -> Pattern:
        found = _EVENT.match(self._text, self._at)
        if found is None or found["kind"] not in KINDS:
            near = [] if found is None else load("difflib:get_close_matches")(found["kind"], KINDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else None
            raise self._mistake(f"an event is missing: one of {', '.join(KINDS)}", hint)
        self._at = found.end()
        kind = found["kind"]
        if (found["open"] is None) != (kind == "test"):
            raise self._mistake(f"`{kind}` {'takes no' if kind == 'test' else 'needs an'} argument in parentheses")
        content = self._content(kind) if found["open"] else ""
        suffix = _OUTCOME.match(self._text, self._at)
        if suffix is not None:
            self._at = suffix.end()
        return self._pattern(kind, content, "" if suffix is None else _OUTCOMES[suffix[1]])

    def _content(self, kind: str) -> str:
        """Return the text up to the closing parenthesis; parentheses inside are balanced, a regex ends at `/)`."""
        start = self._at
        if kind == "text" and self._text.startswith("/", start):
            end = self._text.find("/)", start + 1) + 1
        else:
            depth, end = 1, start
            while end < len(self._text):
                depth += {"(": 1, ")": -1}.get(self._text[end], 0)
                if not depth:
                    break
                end += 1
        if end <= 0 or end >= len(self._text):
            raise self._mistake("a closing parenthesis is missing")
        self._at = end + 1
        return self._text[start:end].strip()

    def _pattern(self, kind: str, content: str, outcome: Outcome) -> Pattern:
        if kind == "text":
            if not (content.startswith("/") and content.endswith("/") and len(content) > 2):
                raise self._mistake("text needs a regular expression: text(/.../)")
            compile_regex = load("scopes.search.regex:compile_regex")
            try:
                return Pattern(kind, content, outcome=outcome, expression=compile_regex(content[1:-1]))
            except Invalid as error:
                raise self._mistake(error.message) from error
        if kind == "tool":
            name, *rest = (each.strip() for each in content.split(","))
            pairs = [each.partition("=") for each in rest]
            if any(not equals for _, equals, _ in pairs):
                raise self._mistake("arguments of a tool are written key=GLOB")
            return Pattern(kind, name, tuple((key.strip(), glob.strip()) for key, _, glob in pairs), outcome)
        if kind != "test" and not content:
            raise self._mistake(f"`{kind}` needs an argument in parentheses")
        return Pattern(kind, content, outcome=outcome)

    def _take(self, word: str) -> bool:
        if self._text.startswith(word, self._at):
            self._at += len(word)
            return True
        return False

    def _require(self, word: str) -> None:
        if not self._take(word):
            raise self._mistake(f"`{word.strip()}` is missing")

    def _end(self, found: Expectation) -> Expectation:
        if self._at != len(self._text):
            raise self._mistake(f"unexpected text {self._text[self._at :]!r}")
        return found

    def _mistake(self, text: str, hint: str | None = None) -> Invalid:
        return Invalid(f"column {self._at + 1}: {text}", hint=hint or "forms: scopes help check")
