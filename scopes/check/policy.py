"""Policies: which rules apply, at which level and with which parameters, read from `scopes-check.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scopes.check.findings import LEVELS, Level
from scopes.check.own_rules import Expectation, matches_line, parse_expectation
from scopes.check.rules.base import Parameter
from scopes.errors import Invalid
from scopes.loading import load
from scopes.result import Note

if TYPE_CHECKING:
    from datetime import date

_EXTENDING = ("extends", "extend", "include", "import")
PRESETS = ("recommended", "strict", "read-only")
_OWN_RULE_KEYS = ("id", "level", "expect", "message", "match", "not_match", "scope")
FAIL_ON = ("error", "warning", "note", "none")
DEFAULT_TESTS = (
    "pytest **", "python* -m pytest **", "python* -m unittest **", "go test **", "cargo test **", "cargo nextest **",
    "npm test **", "npm run test* **", "pnpm test **", "pnpm run test* **", "yarn test **", "bun test **",
    "make *test* **", "make check **", "mise run *test* **", "mise *test* **", "just *test* **", "task *test* **",
    "npx jest **", "npx vitest **", "uv run pytest **", "uv run python* -m pytest **", "poetry run pytest **",
    "pipenv run pytest **", "hatch test **", "bundle exec rspec **", "mix test **", "deno test **", "bazel test **",
    "tox **", "nox **", "jest **", "vitest **", "ctest **", "rspec **", "phpunit **", "mvn test **", "mvn verify **",
    "gradle test **", "gradlew test **", "dotnet test **", "swift test **",
)  # fmt: skip


class Suppression(NamedTuple):
    """A finding that is accepted until a day: rule, the events that it covers, reason, and its line in the file."""

    rule: str
    match: str | None
    reason: str
    until: date
    line: int


class OwnRule(NamedTuple):
    """A rule of the policy.

    message: what a finding says; empty for the text of the form
    scope: `run` for the calls of all agents in one order, `each` to judge the calls of sub-agents apart
    """

    id: str
    level: Level
    expect: str
    expectation: Expectation
    message: str
    scope: str
    line: int


_Choice = TypeVar("_Choice", bound=str)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy.

    path: the file it was read from; None for the defaults
    levels: by rule id; rules that are not there have their default level
    parameters: by rule id
    lines: line of the table of each rule in the file, from 1
    notes: what the user should know about where it comes from
    """

    path: str | None = None
    preset: str = "recommended"
    fail_on: str = "error"
    tests: tuple[str, ...] = DEFAULT_TESTS
    levels: Mapping[str, Level] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    own_rules: tuple[OwnRule, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    tools_as_test: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def parse_policy(text: str, path: str, known_rules: Mapping[str, Sequence[Parameter]]) -> Policy:
    """Read a policy; `known_rules` are the parameters of the built-in rules by id.

    Raises:
        Invalid: a mistake, with its line and column and the nearest known word (exit code 2).
    """
    return _Reader(text, path, known_rules).read()


class _Reader:
    """Reads one policy file; mistakes name the line."""

    def __init__(self, text: str, path: str, known_rules: Mapping[str, Sequence[Parameter]]) -> None:
        self._text = text
        self._path = path
        self._known = known_rules

    def read(self) -> Policy:
        try:
            document = load("tomllib:loads")(self._text)
        except ValueError as error:
            raise Invalid(f"{self._path}: {error}") from error
        keys = ("preset", "fail_on", "tests", "rules", "rule", "suppress", "tool_as_test")
        for key in document:
            if key in _EXTENDING:
                raise self._mistake(key, f"a policy has no key {key!r}", "no policy extends another: copy its rules")
            self._require_known(key, keys, "a policy has no key")
        levels: dict[str, Level] = {}
        parameters: dict[str, dict[str, Any]] = {}
        lines: dict[str, int] = {}
        for rule, settings in self._table(document, "rules").items():
            self._require_known(rule, tuple(self._known), "there is no rule")
            lines[rule] = self._line_of(rule)
            parameters[rule] = self._read_rule(rule, settings, levels)
        return Policy(
            path=self._path,
            preset=self._choice(document, "preset", PRESETS, "recommended"),
            fail_on=self._choice(document, "fail_on", FAIL_ON, "error"),
            tests=tuple(self._texts(document, "tests")) if "tests" in document else DEFAULT_TESTS,
            levels=levels,
            parameters=parameters,
            lines=lines,
            own_rules=self._read_own_rules(document),
            suppressions=tuple(
                self._read_suppression(each, number) for number, each in enumerate(self._tables(document, "suppress"))
            ),
            tools_as_test=tuple(
                self._read_tool(each, number) for number, each in enumerate(self._tables(document, "tool_as_test"))
            ),
        )

    def _read_rule(self, rule: str, settings: object, levels: dict[str, Level]) -> dict[str, Any]:
        if not isinstance(settings, dict):
            raise self._mistake(rule, f"the settings of {rule} are not a table")
        known = {each.name: each for each in self._known[rule]}
        given = {}
        for key, value in settings.items():
            if key == "level":
                levels[rule] = self._choice(settings, "level", LEVELS, "off")
                continue
            self._require_known(key, ("level", *known), f"{rule} has no parameter")
            default = known[key].default
            kinds = (int, float) if default is None or isinstance(default, float) else (type(default),)
            fits = isinstance(value, kinds) and (isinstance(default, bool) or not isinstance(value, bool))
            if not fits or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
                wanted = "a number" if default is None else f"like {default!r}"
                raise self._mistake(key, f"{key} of {rule} must be {wanted}")
            given[key] = value
        return given

    def _read_own_rules(self, document: Mapping[str, Any]) -> tuple[OwnRule, ...]:
        found: dict[str, OwnRule] = {}
        for number, each in enumerate(self._tables(document, "rule")):
            rule = self._read_own_rule(each, number)
            if rule.id in self._known or rule.id in found:
                raise self._mistake("id", f"there is another rule {rule.id!r}", number=number)
            found[rule.id] = rule
        return tuple(found.values())

    def _read_own_rule(self, document: Mapping[str, Any], number: int) -> OwnRule:
        for key in document:
            self._require_known(key, _OWN_RULE_KEYS, "a rule has no key")
        name, expect = document.get("id"), document.get("expect")
        if not isinstance(name, str) or not isinstance(expect, str):
            raise self._mistake("rule", "a rule needs `id` and `expect`", number=number)
        try:
            expectation = parse_expectation(expect)
        except Invalid as error:
            raise self._mistake("expect", f"{name}: {error.message}", error.hint, number=number) from error
        self._try_examples(document, name, expectation, number)
        return OwnRule(
            name,
            self._choice(document, "level", LEVELS, "error"),
            expect,
            expectation,
            str(document.get("message", "")),
            self._choice(document, "scope", ("run", "each"), "run"),
            self._line_of("rule", number),
        )

    def _try_examples(self, document: Mapping[str, Any], name: str, wanted: Expectation, number: int) -> None:
        """Refuse a rule whose first event does not match its examples."""
        for key, expected in (("match", True), ("not_match", False)):
            for line in self._texts(document, key) if key in document else ():
                if any(matches_line(pattern, line) for pattern in wanted.first) is not expected:
                    verb = "does not match" if expected else "matches"
                    raise self._mistake(key, f"{name} {verb} its example {line!r}", number=number)

    def _read_tool(self, document: Mapping[str, Any], number: int) -> str:
        for key in document:
            self._require_known(key, ("name",), "a tool that runs tests has no key")
        name = document.get("name")
        if not isinstance(name, str) or not name:
            raise self._mistake("tool_as_test", "a tool that runs tests needs `name`", number=number)
        return name

    def _read_suppression(self, document: Mapping[str, Any], number: int) -> Suppression:
        for key in document:
            self._require_known(key, ("rule", "match", "reason", "until"), "a suppression has no key")
        rule, match, reason, until = (document.get(key) for key in ("rule", "match", "reason", "until"))
        if not isinstance(rule, str) or not isinstance(reason, str) or not reason.strip():
            raise self._mistake("suppress", "a suppression needs `rule` and `reason`", number=number)
        if match is not None and not isinstance(match, str):
            raise self._mistake("suppress", "`match` of a suppression is one text", number=number)
        if not isinstance(until, load("datetime:date")):
            raise self._mistake("suppress", "a suppression needs a last day: until = 2027-03-31", number=number)
        return Suppression(rule, match, reason, until, self._line_of("suppress", number))

    def _table(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key, {})
        if not isinstance(value, dict):
            raise self._mistake(key, f"{key} is not a table")
        return value

    def _tables(self, document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self._mistake(key, f"{key} is not a list of tables: write [[{key}]]")
        return value

    def _texts(self, document: Mapping[str, Any], key: str) -> list[str]:
        value = document[key]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._mistake(key, f"{key} is not a list of texts")
        return value

    def _choice(self, document: Mapping[str, Any], key: str, choices: Sequence[_Choice], default: _Choice) -> _Choice:
        value = document.get(key, default)
        found = next((choice for choice in choices if choice == value), None)
        if found is None:
            raise self._mistake(key, f"{key} = {value!r} is not one of {', '.join(choices)}")
        return found

    def _require_known(self, key: str, known: Sequence[str], text: str) -> None:
        if key not in known:
            near = load("difflib:get_close_matches")(key, known, 1)
            raise self._mistake(key, f"{text} {key!r}", f"did you mean {near[0]!r}?" if near else None)

    def _mistake(self, key: str, text: str, hint: str | None = None, *, number: int = 0) -> Invalid:
        line = self._line_of(key, number)
        lines = self._text.splitlines()
        column = lines[line - 1].find(key) + 1 if 0 < line <= len(lines) else 1
        return Invalid(f"{self._path}:{line}:{max(column, 1)}: {text}", hint=hint)

    def _line_of(self, key: str, number: int = 0) -> int:
        """Return the line on which a key or the name of a table is written for the n-th time, from 0; 1 if nowhere."""
        name = re.escape(key) + r"""["']?\s*"""
        pattern = re.compile(rf"""^\s*(?:\[(?:.*[."'\[\s])?{name}\]|["']?{name}=)""")
        found = [line for line, text in enumerate(self._text.splitlines(), 1) if pattern.match(text)]
        return found[min(number, len(found) - 1)] if found else 1
