"""Policies: which rules apply, at which level and with which parameters, read from `scopes-check.toml`.

A policy may extend others. The files are put into one order, each once: those that a file extends come before it, and
of several the later one comes later. What a later file sets replaces the value of an earlier one, key by key;
suppressions, rules and tools of all files add up, and a rule replaces an earlier one with the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scopes.check.default_tests import DEFAULT_TESTS
from scopes.check.findings import LEVELS, Level
from scopes.check.own_rules import Expectation, matches_line, parse_expectation
from scopes.check.policy_sources import NoFiles, PolicySource
from scopes.check.policy_text import PolicyText
from scopes.check.rules.base import Parameter
from scopes.errors import Invalid
from scopes.result import Note

if TYPE_CHECKING:
    from datetime import date

_MAX_LEVELS = 10
_MAX_FILES = 100  # that a policy extends, directly or not
_KEYS = ("extends", "preset", "fail_on", "tests", "rules", "rule", "suppress", "tool_as_test")
_MAX_BITS = 63
_EXTENDING = ("extend", "include", "import")
PRESETS = ("recommended", "strict", "read-only")
_SUPPRESSION_KEYS = ("rule", "match", "directory", "reason", "until")
# Lists of patterns without which a rule finds nothing: an empty one is a mistake.
_NEEDED = ("paths", "commands", "programs")
_NEEDED_OF = (("tools/undeclared", "allow"),)
FORMS_HINT = (
    "forms: never A, never A until B, never A after B, some A, A needs B before, A needs B after, last A after last B, "
    "at most N A\n"
    "events A, B: run(WORDS), edit(GLOB), read(GLOB), tool(NAME, key=GLOB), fetch(HOST), text(/REGEX/), agent(TYPE), "
    "test; each with .ok, .failed or .denied if wanted; A | B for one of two"
)
_OWN_RULE_KEYS = ("id", "level", "expect", "message", "match", "not_match", "scope")
FAIL_ON = ("error", "warning", "note", "none")


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
    from difflib import get_close_matches

    for each in policy.suppressions:
        if each.rule not in known:
            near = get_close_matches(each.rule, known, 1)
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
                raise reader.mistake(("extends",), f"a policy extends itself: {names}")
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
            raise reader.mistake(("extends",), error.message, error.hint) from error

    def _open(self, path: str, reader: _Reader, level: int) -> _Reader:
        if level > _MAX_LEVELS:
            raise _too_deep(reader)
        if len(self._layers) > _MAX_FILES:
            raise reader.mistake(("extends",), f"a policy extends more than {_MAX_FILES} files")
        try:
            return _Reader(self._source.read(path), self._source.show(path), self._known)
        except Invalid as error:
            raise reader.mistake(("extends",), error.message, error.hint) from error


def _too_deep(reader: _Reader) -> Invalid:
    return reader.mistake(("extends",), f"policies extend each other over more than {_MAX_LEVELS} levels")


class _Reader:
    """Reads one policy file; mistakes name the line."""

    def __init__(self, text: str, path: str, known_rules: Mapping[str, Sequence[Parameter]]) -> None:
        self._text = PolicyText(text, path)
        self.mistake = self._text.mistake
        self._known = known_rules
        self._own_tables: dict[str, object] = {}  # settings of rules that are not built in

    def read(self) -> Layer:
        document = self._text.parse()
        for key in document:
            if key in _EXTENDING:
                raise self.mistake((key,), f"a policy has no key {key!r}", "did you mean 'extends'?")
            self._require_known(key, _KEYS, "a policy has no key")
        levels: dict[str, Level] = {}
        parameters: dict[str, dict[str, Any]] = {}
        lines: dict[str, int] = {}
        for rule, settings in self._table(document, "rules").items():
            if rule not in self._known:
                self._own_tables[rule] = settings
                continue
            lines[rule] = self._text.line_of(("rules", rule))
            parameters[rule] = self._read_rule(rule, settings, levels)
        return Layer(
            path=self._text.path,
            extends=self._read_extends(document),
            preset=self._choice(document, "preset", PRESETS, "recommended") if "preset" in document else None,
            fail_on=self._choice(document, "fail_on", FAIL_ON, "error") if "fail_on" in document else None,
            tests=self._read_tests(document),
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
                    raise self.mistake(
                        ("rules", rule), f"there is no rule {rule!r}", f'did you mean [rules."{joined}"]?'
                    )
            self._require_known(rule, known, "there is no rule", "rules")
            self._read_rule(rule, settings, levels)
        return levels

    def _read_extends(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        value = document.get("extends", [])
        paths = [value] if isinstance(value, str) else value
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            raise self.mistake(("extends",), "extends is not a path or a list of paths")
        return tuple(dict.fromkeys(reversed(paths)))[::-1]  # of equal paths the last one counts

    def _read_tests(self, document: Mapping[str, Any]) -> tuple[str, ...] | None:
        if "tests" not in document:
            return None
        tests = self._texts(document, "tests")
        if not tests and not document.get("tool_as_test"):
            hint = "leave it out for the usual commands, or name those that run tests; or tools, in [[tool_as_test]]"
            raise self.mistake(("tests",), "tests is empty: nothing would count as a test run", hint)
        return tuple(tests)

    def _read_rule(self, rule: str, settings: object, levels: dict[str, Level]) -> dict[str, Any]:
        if not isinstance(settings, dict):
            hint = f'write [rules."{rule}"] on a line of its own, and level = "off" below it, for example'
            raise self.mistake(("rules", rule), f"the settings of {rule} are not a table", hint)
        known = {each.name: each for each in self._known.get(rule, ())}
        given = {}
        for key, value in settings.items():
            if key == "level":
                levels[rule] = self._choice(settings, "level", LEVELS, "off", "rules", rule)
                continue
            self._require_known(key, ("level", *known), f"{rule} has no parameter", "rules", rule)
            problem = _find_problem(value, known[key].default)
            if problem is not None:
                raise self.mistake(("rules", rule, key), f"{key} of {rule} {problem}")
            if not value and settings.get("level") != "off" and (key in _NEEDED or (rule, key) in _NEEDED_OF):
                hint = f'leave {key} out, or write level = "off" to turn the rule off'
                raise self.mistake(("rules", rule, key), f"{key} of {rule} is empty: the rule would find nothing", hint)
            given[key] = value
        return given

    def _read_own_rules(self, document: Mapping[str, Any]) -> tuple[OwnRule, ...]:
        found: dict[str, OwnRule] = {}
        for number, each in enumerate(self._tables(document, "rule")):
            rule = self._read_own_rule(each, number)
            if rule.id in self._known or rule.id in found:
                raise self.mistake(("rule", number, "id"), f"there is another rule {rule.id!r}")
            found[rule.id] = rule
        return tuple(found.values())

    def _read_own_rule(self, document: Mapping[str, Any], number: int) -> OwnRule:
        place = ("rule", number)
        for key in document:
            self._require_known(key, _OWN_RULE_KEYS, "a rule has no key", *place)
        for key in ("id", "expect", "message"):
            self._require_text(document, key, "a rule", *place)
        if "id" not in document or "expect" not in document:
            raise self.mistake(place, "a rule needs `id` and `expect`")
        name, expect = document["id"], document["expect"]
        try:
            expectation = parse_expectation(expect)
        except Invalid as error:
            hint = error.hint if error.hint and error.hint.startswith("did you mean") else ""
            hint = f"{hint}\n{FORMS_HINT}".lstrip()
            raise self.mistake((*place, "expect"), f"{name}: {error.message}", hint) from error
        self._try_examples(document, name, expectation, number)
        return OwnRule(
            name,
            self._choice(document, "level", LEVELS, "error", *place),
            expect,
            expectation,
            document.get("message", ""),
            self._choice(document, "scope", ("run", "each"), "run", *place),
            self._text.line_of(place),
        )

    def _try_examples(self, document: Mapping[str, Any], name: str, wanted: Expectation, number: int) -> None:
        """Refuse a rule whose first event does not match its examples."""
        for key, expected in (("match", True), ("not_match", False)):
            for line in self._texts(document, key, "rule", number) if key in document else ():
                if any(matches_line(pattern, line) for pattern in wanted.first) is not expected:
                    problem = f"does not match its example {line!r}" if expected else f"matches {line!r} of `not_match`"
                    raise self.mistake(("rule", number, key), f"{name} {problem}")

    def _read_tool(self, document: Mapping[str, Any], number: int) -> str:
        place = ("tool_as_test", number)
        for key in document:
            self._require_known(key, ("name",), "a tool that runs tests has no key", *place)
        self._require_text(document, "name", "a tool that runs tests", *place)
        if not document.get("name"):
            raise self.mistake((*place, "name"), "a tool that runs tests needs `name`")
        return str(document["name"])

    def _read_suppression(self, document: Mapping[str, Any], number: int) -> Suppression:
        place = ("suppress", number)
        for key in document:
            self._require_known(key, _SUPPRESSION_KEYS, "a suppression has no key", *place)
        for key in ("rule", "match", "directory", "reason"):
            self._require_text(document, key, "a suppression", *place)
        rule, match, reason, until = (document.get(key) for key in ("rule", "match", "reason", "until"))
        if rule is None or reason is None:
            raise self.mistake(place, "a suppression needs `rule` and `reason`")
        if not reason.strip():
            raise self.mistake((*place, "reason"), "`reason` of a suppression is empty")
        directory = document.get("directory")
        if directory is not None and match is None:
            raise self.mistake((*place, "directory"), "`directory` of a suppression needs `match`")
        from datetime import date

        if not isinstance(until, date):
            text = "`until` is a date without quotes" if isinstance(until, str) else "a suppression needs a last day"
            raise self.mistake((*place, "until"), f"{text}: until = 2027-03-31")
        from datetime import datetime

        if isinstance(until, datetime):
            raise self.mistake((*place, "until"), "`until` is a date without a time: until = 2027-03-31")
        return Suppression(rule, match, reason, until, self._text.line_of(place), directory=directory)

    def _table(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key, {})
        if not isinstance(value, dict):
            raise self.mistake((key,), f"{key} is not a table")
        return value

    def _tables(self, document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.mistake((key,), f"{key} is not a list of tables: write [[{key}]]")
        return value

    def _texts(self, document: Mapping[str, Any], key: str, *around: str | int) -> list[str]:
        value = document[key]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.mistake((*around, key), f"{key} is not a list of texts")
        return value

    def _choice(
        self, document: Mapping[str, Any], key: str, choices: Sequence[_Choice], default: _Choice, *around: str | int
    ) -> _Choice:
        value = document.get(key, default)
        found = next((choice for choice in choices if choice == value), None)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(str(value), choices, 1) if isinstance(value, str) else []
            hint = f"did you mean {near[0]!r}?" if near else None
            text = f"{key} = {show_value(value)} is not one of {', '.join(choices)}"
            raise self.mistake((*around, key), text, hint)
        return found

    def _require_text(self, document: Mapping[str, Any], key: str, what: str, *around: str | int) -> None:
        if not isinstance(document.get(key, ""), str):
            text = f"`{key}` of {what} is a text in quotes, not {show_value(document[key])}"
            raise self.mistake((*around, key), text)

    def _require_known(self, key: str, known: Sequence[str], text: str, *around: str | int) -> None:
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(key, known, 1)
            raise self.mistake((*around, key), f"{text} {key!r}", f"did you mean {near[0]!r}?" if near else None)


def _find_problem(value: object, default: object) -> str | None:
    """Return why a value is none for a parameter with a default, as the end of a sentence; None if it is fine."""
    kinds = (int, float) if default is None or isinstance(default, float) else (type(default),)
    fits = isinstance(value, kinds) and (isinstance(default, bool) or not isinstance(value, bool))
    if not fits or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
        return f"must be {'a number' if default is None else f'like {default!r}'}"
    if isinstance(value, list) and not all(each.strip() for each in value):
        return "has an empty text, which matches nothing"
    if isinstance(value, float) and not abs(value) < float("inf"):
        return "must be a finite number"
    if isinstance(value, int | float) and value < 0:
        return "must not be negative"
    return "has too many digits" if isinstance(value, int) and value.bit_length() > _MAX_BITS else None


def show_value(value: object) -> str:
    """Return a value of a TOML document for a message, as it is written there if it is no text, list or table."""
    try:
        if isinstance(value, bool):
            return str(value).lower()
        from datetime import date

        return value.isoformat() if isinstance(value, date) else repr(value)
    except ValueError:  # the limit of Python on the digits of an integer
        return "a number with too many digits"
    except RecursionError:
        return "a list that is nested too deeply"
