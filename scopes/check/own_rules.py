"""Rules of a policy in a small language: which events a run must have, or must not have, and in which order.

    expect = "never run(git push **) until test.ok"
    expect = "run(alembic upgrade **) needs run(pg_dump **).ok before"

Events: `run(WORDS)`, `edit(GLOB)`, `read(GLOB)`, `tool(NAME, key=GLOB)`, `fetch(HOST)`, `text(/REGEX/)`, `agent(TYPE)`
and `test`, each with `.ok`, `.failed` or `.denied` if wanted; `|` separates alternatives. Whether a test run passed is
read as in order/tests-passed. The commands of a line are events in their order; `edit` and `read` are also what they do
to the files that their words name.
Forms: `never A`, `never A until B`, `never A after B`, `some A`, `A needs B before`, `A needs B after`,
`last A after last B`, `at most N A`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from scopes.check.globs import matches_command
from scopes.check.shell import parse_commands
from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from scopes.search.text import Matcher

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
            from difflib import get_close_matches

            near = get_close_matches(word, _WORDS, 1)
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
            from difflib import get_close_matches

            near = [] if found is None else get_close_matches(found["kind"], KINDS, 1)
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
            from scopes.search.text import compile_regex

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
