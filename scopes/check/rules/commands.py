"""Judge a run by each command that its shell calls run, after unwrapping."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from scopes.check.calls import Call
from scopes.check.findings import Finding
from scopes.check.globs import matches_one, patterns_for
from scopes.check.rules.base import Judge, Parameter, Settings, event_of, place_of
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.shell_unwrap import verb_candidates
from scopes.check.shell_wrappers import is_abbreviation
from scopes.lazy_patterns import compile_lazily
from scopes.secret_scan.shown import hide_secrets

MAX_MATCH = 300  # characters
SCRATCH = ["/tmp/**", "/var/tmp/**", "/private/tmp/**", "/var/folders/**", "/private/var/folders/**", "/dev/shm/**"]  # noqa: S108
ALLOW = Parameter("allow", [], "commands that are allowed, as patterns such as `git push --force origin wip-*`")

Decide = Callable[[Command, Call, Run, Settings], str | None]  # what is wrong with a command; None if nothing is


class Flags(NamedTuple):
    """The options of a command without their values, and its other words; None for a word that the shell computes."""

    options: frozenset[str]
    operands: tuple[str | None, ...]


_MODULE = compile_lazily(r"-[A-Za-ln-z]*m(.*)")
_EXPANDED = compile_lazily(r"[$`]")
_BLANK = compile_lazily(r"\s")
_MAX_SUBCOMMANDS = 3  # words before `--help`, the program included


def judge_commands(rule: str, decide: Decide, cure: str, *, help_counts: bool = False) -> Judge:
    """Return the judge of a rule about single commands; one command of a call is reported once.

    help_counts: a command that only prints its help is judged too
    """

    def judge(run: Run, settings: Settings) -> Iterable[Finding]:
        findings = []
        for call in run.calls:
            seen = set()
            for position, command in enumerate(call.commands):
                message = None if not help_counts and _asks_for_help(command) else decide(command, call, run, settings)
                if message is None:
                    continue
                match, place = match_of(command, call), place_of(run, call, position)
                if (message, match, place) in seen:
                    continue
                seen.add((message, match, place))
                findings.append(
                    Finding(
                        rule=rule,
                        level=settings.level,
                        message=message,
                        events=(event_of(call),),
                        match=match,
                        wrapper=" ".join(command.wrappers) or None,
                        attempted=call.attempted,
                        cure=cure,
                        directory=place,
                    )
                )
        return findings

    return judge


def _asks_for_help(command: Command) -> bool:
    """Return True for `git push --help`: elsewhere `--help` may be an operand, or the value of an option."""
    *words, last = command.argv or (None,)
    return last == "--help" and len(words) <= _MAX_SUBCOMMANDS and not any(not word or word[0] == "-" for word in words)


def match_of(command: Command, call: Call) -> str:
    """Return the words of a command as they were read if they are in the text of the call, or if variables decide them.

    Otherwise it is the text of the command. `rm -rf $D` is one command after `D=build` and another one after `D=/`.
    """
    words = " ".join(command.words)
    if words and words in (call.shell or ""):
        return hide_secrets(words)[:MAX_MATCH]
    is_expanded = _EXPANDED.search(command.text) is not None and bool(words)
    as_read = " ".join(word if word and not _BLANK.search(word) else repr(word) for word in command.words)
    return hide_secrets(as_read if is_expanded else command.text)[:MAX_MATCH]


def matches_any(patterns: Sequence[str], command: Command) -> bool:
    """Return True if a pattern matches a command, with or without the options before its first operand."""
    if matches_one(patterns, command):
        return True
    if command.program is None or not patterns_for(tuple(patterns), command.program):
        return False
    start = next((n for n, word in enumerate(command.argv[1:], 1) if word is None or not word.startswith("-")), 1)
    if start == 1:
        return False
    shorter = (command._replace(argv=(command.argv[0], *command.argv[n:])) for n in (start, start + 1))
    return any(matches_one(patterns, each) for each in shorter)


def is_given(options: Iterable[str], *names: str) -> bool:
    """Return True if one of some long options is given, perhaps shortened."""
    return any(is_abbreviation(each, name) for each in options for name in names)


def matches_verb(patterns: Sequence[str], command: Command) -> bool:
    """Return True if a pattern matches a command without the options in front of its verb, whatever their values.

    `python -m MODULE` is the program of the module.
    """
    name = command.program
    if name is None:
        return False
    if re.fullmatch(r"python[\d.]*|pypy3?", name) and (module := _module_of(command)) is not None:
        return matches_verb(patterns, command._replace(argv=module))
    if not patterns_for(tuple(patterns), name):
        return False
    known = tuple("$" if word is None else word for word in command.argv[1:])
    starts = (len(known) - len(each) + 1 for each in verb_candidates(known))
    forms = [command._replace(argv=(name, *command.argv[start:])) for start in starts]
    return any(matches_one(patterns, each) for each in forms)


def _module_of(command: Command) -> tuple[str | None, ...] | None:
    """Return the module that python runs with `-m`, and its arguments."""
    words = command.argv[1:]
    for number, word in enumerate(words):
        match = _MODULE.fullmatch(word or "")
        if match is not None:
            return (match[1], *words[number + 1 :]) if match[1] else words[number + 1 :]
        if word is None or (not word.startswith("-") and (number == 0 or words[number - 1] not in {"-W", "-X", "-c"})):
            return None
    return None


def read_flags(words: Sequence[str | None], valued: str = "", long: Sequence[str] = (), attached: str = "") -> Flags:
    """Split words into options and operands; `valued` letters and `long` names take a value, `attached` ones may."""
    options: set[str] = set()
    operands: list[str | None] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            operands += words[position:]
            break
        if word is None or not word.startswith("-") or word == "-":
            operands.append(word)
        elif word.startswith("--"):
            options.add(word.partition("=")[0])
            position += word in long
        else:
            for number, letter in enumerate(word[1:], 2):
                options.add(f"-{letter}")
                if letter in valued:
                    position += not word[number:]
                if letter in valued or letter in attached:
                    break
    return Flags(frozenset(options), tuple(operands))
