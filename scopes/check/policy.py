"""Policies: which rules apply, at which level and with which parameters, read from `scopes-check.toml`.

A policy may extend others. The files are put into one order, each once: those that a file extends come before it, and
of several the later one comes later. What a later file sets replaces the value of an earlier one, key by key;
suppressions, rules and tools of all files add up, and a rule replaces an earlier one with the same id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scopes.check.findings import LEVELS, Level
from scopes.check.own_rules import Expectation, matches_line, parse_expectation
from scopes.check.policy_sources import NoFiles, PolicySource
from scopes.check.rules.base import Parameter
from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily
from scopes.loading import load
from scopes.result import Note

if TYPE_CHECKING:
    from datetime import date

_MAX_LEVELS = 10
_MAX_FILES = 100  # that a policy extends, directly or not
_KEYS = ("extends", "preset", "fail_on", "tests", "rules", "rule", "suppress", "tool_as_test")
_MAX_BITS = 63
_OPENING = compile_lazily(r"[\[{.]")
_MANY = 50  # brackets of a line on which nesting can be too deep
_LONG_NUMBER = compile_lazily(r"[0-9_]{4300}")
_PLACE = compile_lazily(r" ?\(at line (\d+), column (\d+)\)")
_DATE = compile_lazily(r"\b\d{4}-\d{1,2}-\d{1,2}\b")
_UNQUOTED = compile_lazily(r"\s*\[\s*rules\s*\.\s*[\w-]+/")
_EXTENDING = ("extend", "include", "import")
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
    """A finding that is accepted until a day: rule, the events that it covers, reason, and its line.

    directory: where the command of `match` runs, relative to the workspace; None for the workspace itself
    path: the file if it is one that the policy extends
    """

    rule: str
    match: str | None
    reason: str
    until: date
    line: int
    path: str | None = None
    directory: str | None = None


class OwnRule(NamedTuple):
    """A rule of the policy.

    message: what a finding says; empty for the text of the form
    scope: `run` for the calls of all agents in one order, `each` to judge the calls of sub-agents apart
    path: the file if it is one that the policy extends
    """

    id: str
    level: Level
    expect: str
    expectation: Expectation
    message: str
    scope: str
    line: int
    path: str | None = None


_Choice = TypeVar("_Choice", bound=str)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy.

    path: the file it was read from; None for the defaults
    levels: by rule id; rules that are not there have their default level
    parameters: by rule id
    lines: line of the table of each rule in its file, from 1
    paths: the file of the table of each rule, if it is one that the policy extends
    notes: what the user should know about where it comes from
    """

    path: str | None = None
    preset: str = "recommended"
    fail_on: str = "error"
    tests: tuple[str, ...] = DEFAULT_TESTS
    levels: Mapping[str, Level] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    own_rules: tuple[OwnRule, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    tools_as_test: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


class Layer(NamedTuple):
    """What one file of a policy sets; None for a key that it lacks."""

    path: str
    extends: tuple[str, ...] = ()
    preset: str | None = None
    fail_on: str | None = None
    tests: tuple[str, ...] | None = None
    levels: Mapping[str, Level] = MappingProxyType({})
    parameters: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    lines: Mapping[str, int] = MappingProxyType({})
    own_rules: tuple[OwnRule, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    tools_as_test: tuple[str, ...] = ()


def parse_policy(
    text: str, path: str, known_rules: Mapping[str, Sequence[Parameter]], source: PolicySource | None = None
) -> Policy:
    """Read a policy; `known_rules` are the parameters of the built-in rules by id.

    The policies that it extends are read from `source`, and from nowhere else.

    Raises:
        Invalid: a mistake, with its file, line and column and the nearest known word (exit code 2).
    """
    return merge_layers(_Files(known_rules, source or NoFiles(path)).read(text, path))


def require_known_suppressions(policy: Policy, known_rules: Iterable[str]) -> None:
    """Refuse a suppression of a rule that neither scopes nor the policy has.

    Raises:
        Invalid: with its file and line, and the nearest rule.
    """
    known = (*known_rules, *(rule.id for rule in policy.own_rules))
    for each in policy.suppressions:
        if each.rule not in known:
            near = load("difflib:get_close_matches")(each.rule, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "see: scopes check --list"
            place = f"{each.path or policy.path}:{each.line}:1"
            raise Invalid(f"{place}: a suppression is of a rule that does not exist: {each.rule!r}", hint=hint)


def merge_layers(layers: Sequence[Layer]) -> Policy:
    """Return the policy of files; what a later one sets replaces what an earlier one sets. The last is the policy."""
    levels: dict[str, Level] = {}
    parameters: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    paths: dict[str, str] = {}
    own_rules: dict[str, OwnRule] = {}
    path = layers[-1].path
    for layer in layers:
        inherited = None if layer.path == path else layer.path
        for rule in layer.own_rules:  # replaces an inherited one with its level
            levels.pop(rule.id, None)
        levels.update(layer.levels)
        lines.update(layer.lines)
        for name, given in layer.parameters.items():
            parameters.setdefault(name, {}).update(given)
        for name in layer.lines:
            paths[name] = layer.path
        own_rules.update((rule.id, rule._replace(path=inherited)) for rule in layer.own_rules)
    return Policy(
        path=path,
        preset=_last(layer.preset for layer in layers) or "recommended",
        fail_on=_last(layer.fail_on for layer in layers) or "error",
        tests=next((layer.tests for layer in reversed(layers) if layer.tests is not None), DEFAULT_TESTS),
        levels=levels,
        parameters=parameters,
        lines=lines,
        paths={rule: file for rule, file in paths.items() if file != path},
        own_rules=tuple(rule._replace(level=levels.get(rule.id, rule.level)) for rule in own_rules.values()),
        suppressions=tuple(
            each if layer.path == path else each._replace(path=layer.path)
            for layer in layers
            for each in layer.suppressions
        ),
        tools_as_test=tuple(dict.fromkeys(name for layer in layers for name in layer.tools_as_test)),
    )


def _last(values: Iterable[str | None]) -> str | None:
    """Return the last value that is given."""
    return next((value for value in reversed(list(values)) if value is not None), None)


class _Files:
    """Reads a policy and the files that it extends, each once."""

    def __init__(self, known: Mapping[str, Sequence[Parameter]], source: PolicySource) -> None:
        self._known = known
        self._source = source
        self._layers: dict[str, Layer] = {}
        self._orders: dict[str, tuple[str, ...]] = {}  # of a file and those that it extends
        self._heights: dict[str, int] = {}  # levels below a file

    def read(self, text: str, path: str) -> list[Layer]:
        """Return the files in the order in which they apply."""
        self._add(self._source.path, _Reader(text, path, self._known), (self._source.path,))
        return [self._layers[each] for each in self._orders[self._source.path]]

    def _add(self, path: str, reader: _Reader, chain: tuple[str, ...]) -> None:
        layer = self._layers[path] = reader.read()
        order: dict[str, None] = {}
        height = 0
        for written in layer.extends:
            target = self._locate(path, written, reader)
            if target in chain:
                names = " -> ".join(map(self._source.show, (*chain[chain.index(target) :], target)))
                raise reader.mistake("extends", f"a policy extends itself: {names}")
            if target not in self._orders:
                self._add(target, self._open(target, reader, len(chain)), (*chain, target))
            height = max(height, self._heights[target] + 1)
            for each in self._orders[target]:
                order.pop(each, None)
                order[each] = None
        if height > _MAX_LEVELS:
            raise _too_deep(reader)
        self._orders[path], self._heights[path] = (*order, path), height
        own = [rule.id for each in self._orders[path] for rule in self._layers[each].own_rules]
        self._layers[path] = layer._replace(levels={**layer.levels, **reader.read_own_levels(own)})

    def _locate(self, path: str, written: str, reader: _Reader) -> str:
        try:
            return self._source.locate(path, written)
        except Invalid as error:
            raise reader.mistake("extends", error.message, error.hint) from error

    def _open(self, path: str, reader: _Reader, level: int) -> _Reader:
        if level > _MAX_LEVELS:
            raise _too_deep(reader)
        if len(self._layers) > _MAX_FILES:
            raise reader.mistake("extends", f"a policy extends more than {_MAX_FILES} files")
        try:
            return _Reader(self._source.read(path), self._source.show(path), self._known)
        except Invalid as error:
            raise reader.mistake("extends", error.message, error.hint) from error


def _too_deep(reader: _Reader) -> Invalid:
    return reader.mistake("extends", f"policies extend each other over more than {_MAX_LEVELS} levels")


class _Reader:
    """Reads one policy file; mistakes name the line."""

    def __init__(self, text: str, path: str, known_rules: Mapping[str, Sequence[Parameter]]) -> None:
        self._text = text
        self._lines = text.splitlines()
        self._found: dict[str, list[int]] = {}  # lines by key
        self._path = path
        self._known = known_rules
        self._own_tables: dict[str, object] = {}  # settings of rules that are not built in

    def read(self) -> Layer:
        document = self._parse()
        for key in document:
            if key in _EXTENDING:
                raise self.mistake(key, f"a policy has no key {key!r}", "did you mean 'extends'?")
            self._require_known(key, _KEYS, "a policy has no key")
        levels: dict[str, Level] = {}
        parameters: dict[str, dict[str, Any]] = {}
        lines: dict[str, int] = {}
        for rule, settings in self._table(document, "rules").items():
            if rule not in self._known:
                self._own_tables[rule] = settings
                continue
            lines[rule] = self._line_of(rule)
            parameters[rule] = self._read_rule(rule, settings, levels)
        return Layer(
            path=self._path,
            extends=self._read_extends(document),
            preset=self._choice(document, "preset", PRESETS, "recommended") if "preset" in document else None,
            fail_on=self._choice(document, "fail_on", FAIL_ON, "error") if "fail_on" in document else None,
            tests=tuple(self._texts(document, "tests")) if "tests" in document else None,
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

    def read_own_levels(self, own: Iterable[str]) -> dict[str, Level]:
        """Return the levels that the file sets for own rules, its own and those that it inherits."""
        levels: dict[str, Level] = {}
        known = (*self._known, *own)
        for rule, settings in self._own_tables.items():
            if rule not in known and isinstance(settings, dict):
                joined = next((f"{rule}/{key}" for key in settings if f"{rule}/{key}" in known), None)
                if joined is not None:
                    raise self.mistake(rule, f"there is no rule {rule!r}", f'did you mean [rules."{joined}"]?')
            self._require_known(rule, known, "there is no rule")
            self._read_rule(rule, settings, levels)
        return levels

    def _parse(self) -> dict[str, Any]:
        try:
            return dict(load("tomllib:loads")(self._text))
        except load("tomllib:TOMLDecodeError") as error:
            raise self._syntax_mistake(str(error)) from error
        except RecursionError as error:
            nested = (number for number, text in enumerate(self._lines, 1) if len(_OPENING.findall(text)) > _MANY)
            line = next(nested, 1)
            raise Invalid(f"{self._path}:{line}:1: tables or lists are nested too deeply") from error
        except ValueError as error:  # the limit of Python on the digits of an integer
            line = next((number for number, text in enumerate(self._lines, 1) if _LONG_NUMBER.search(text)), 1)
            raise Invalid(f"{self._path}:{line}:1: a number has too many digits") from error

    def _syntax_mistake(self, text: str) -> Invalid:
        """Return the error about a text that is not TOML, with its place in the form of all mistakes."""
        found = _PLACE.search(text)
        line, column = (int(found[1]), int(found[2])) if found else (max(len(self._lines), 1), 1)
        written = self._lines[line - 1] if line <= len(self._lines) else ""
        hint = "a policy is a TOML file, see: man scopes-check" if found is not None else None
        if _UNQUOTED.match(written):
            hint = 'put the name of the rule in quotes: [rules."order/tests-passed"]'
        date = _DATE.search(written)
        text = "the file ends in the middle of a value" if found is None else text[: found.start()].rstrip()
        if date is not None and date.start() <= column <= date.end() + 1:
            text, column = f"{date[0]} is no date", date.start() + 1
        return Invalid(f"{self._path}:{line}:{column}: {text}", hint=hint)

    def _read_extends(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        value = document.get("extends", [])
        paths = [value] if isinstance(value, str) else value
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            raise self.mistake("extends", "extends is not a path or a list of paths")
        return tuple(dict.fromkeys(reversed(paths)))[::-1]  # of equal paths the last one counts

    def _read_rule(self, rule: str, settings: object, levels: dict[str, Level]) -> dict[str, Any]:
        if not isinstance(settings, dict):
            hint = f'write [rules."{rule}"] on a line of its own, and level = "off" below it, for example'
            raise self.mistake(rule, f"the settings of {rule} are not a table", hint)
        known = {each.name: each for each in self._known.get(rule, ())}
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
                raise self.mistake(key, f"{key} of {rule} must be {wanted}")
            if isinstance(value, float) and not abs(value) < float("inf"):
                raise self.mistake(key, f"{key} of {rule} must be a finite number")
            if isinstance(value, int | float) and value < 0:
                raise self.mistake(key, f"{key} of {rule} must not be negative")
            if isinstance(value, int) and value.bit_length() > _MAX_BITS:
                raise self.mistake(key, f"{key} of {rule} has too many digits")
            given[key] = value
        return given

    def _read_own_rules(self, document: Mapping[str, Any]) -> tuple[OwnRule, ...]:
        found: dict[str, OwnRule] = {}
        for number, each in enumerate(self._tables(document, "rule")):
            rule = self._read_own_rule(each, number)
            if rule.id in self._known or rule.id in found:
                raise self.mistake("id", f"there is another rule {rule.id!r}", number=number)
            found[rule.id] = rule
        return tuple(found.values())

    def _read_own_rule(self, document: Mapping[str, Any], number: int) -> OwnRule:
        for key in document:
            self._require_known(key, _OWN_RULE_KEYS, "a rule has no key")
        name, expect = document.get("id"), document.get("expect")
        if not isinstance(name, str) or not isinstance(expect, str):
            raise self.mistake("rule", "a rule needs `id` and `expect`", number=number)
        try:
            expectation = parse_expectation(expect)
        except Invalid as error:
            raise self.mistake("expect", f"{name}: {error.message}", error.hint, number=number) from error
        if not isinstance(document.get("message", ""), str):
            raise self.mistake("message", f"`message` of {name} is not a text", number=number)
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
                    problem = f"does not match its example {line!r}" if expected else f"matches {line!r} of `not_match`"
                    raise self.mistake(key, f"{name} {problem}", number=number)

    def _read_tool(self, document: Mapping[str, Any], number: int) -> str:
        for key in document:
            self._require_known(key, ("name",), "a tool that runs tests has no key")
        name = document.get("name")
        if not isinstance(name, str) or not name:
            raise self.mistake("tool_as_test", "a tool that runs tests needs `name`", number=number)
        return name

    def _read_suppression(self, document: Mapping[str, Any], number: int) -> Suppression:
        for key in document:
            self._require_known(key, ("rule", "match", "directory", "reason", "until"), "a suppression has no key")
        rule, match, reason, until = (document.get(key) for key in ("rule", "match", "reason", "until"))
        if isinstance(reason, str) and not reason.strip():
            raise self.mistake("suppress", "`reason` of a suppression is empty", number=number)
        if not isinstance(rule, str) or not isinstance(reason, str):
            raise self.mistake("suppress", "a suppression needs `rule` and `reason`", number=number)
        if match is not None and not isinstance(match, str):
            raise self.mistake("suppress", "`match` of a suppression is one text", number=number)
        directory = document.get("directory")
        if directory is not None and (not isinstance(directory, str) or match is None):
            raise self.mistake("directory", "`directory` of a suppression is a text; it needs `match`", number=number)
        if not isinstance(until, load("datetime:date")):
            text = "`until` is a date without quotes" if isinstance(until, str) else "a suppression needs a last day"
            raise self.mistake("suppress", f"{text}: until = 2027-03-31", number=number)
        if isinstance(until, load("datetime:datetime")):
            raise self.mistake("suppress", "`until` is a date without a time: until = 2027-03-31", number=number)
        return Suppression(rule, match, reason, until, self._line_of("suppress", number), directory=directory)

    def _table(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key, {})
        if not isinstance(value, dict):
            raise self.mistake(key, f"{key} is not a table")
        return value

    def _tables(self, document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.mistake(key, f"{key} is not a list of tables: write [[{key}]]")
        return value

    def _texts(self, document: Mapping[str, Any], key: str) -> list[str]:
        value = document[key]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.mistake(key, f"{key} is not a list of texts")
        return value

    def _choice(self, document: Mapping[str, Any], key: str, choices: Sequence[_Choice], default: _Choice) -> _Choice:
        value = document.get(key, default)
        found = next((choice for choice in choices if choice == value), None)
        if found is None:
            near = load("difflib:get_close_matches")(str(value), choices, 1) if isinstance(value, str) else []
            hint = f"did you mean {near[0]!r}?" if near else None
            raise self.mistake(key, f"{key} = {show_value(value)} is not one of {', '.join(choices)}", hint)
        return found

    def _require_known(self, key: str, known: Sequence[str], text: str) -> None:
        if key not in known:
            near = load("difflib:get_close_matches")(key, known, 1)
            raise self.mistake(key, f"{text} {key!r}", f"did you mean {near[0]!r}?" if near else None)

    def mistake(self, key: str, text: str, hint: str | None = None, *, number: int = 0) -> Invalid:
        """Return the error about the n-th place of a key."""
        line = self._line_of(key, number)
        column = self._lines[line - 1].find(key) + 1 if 0 < line <= len(self._lines) else 1
        return Invalid(f"{self._path}:{line}:{max(column, 1)}: {text}", hint=hint)

    def _line_of(self, key: str, number: int = 0) -> int:
        """Return the line on which a key or the name of a table is written for the n-th time, from 0; 1 if nowhere."""
        if key not in self._found:
            name = re.escape(key) + r"""["']?\s*"""
            pattern = re.compile(rf"""^\s*(?:\[(?:.*[."'\[\s])?{name}\]|["']?{name}=)""")
            self._found[key] = [line for line, text in enumerate(self._lines, 1) if pattern.match(text)]
        found = self._found[key]
        return found[min(number, len(found) - 1)] if found else 1


def show_value(value: object) -> str:
    """Return a value of a TOML document for a message."""
    try:
        return repr(value)
    except ValueError:  # the limit of Python on the digits of an integer
        return "a number with too many digits"
    except RecursionError:
        return "a list that is nested too deeply"
