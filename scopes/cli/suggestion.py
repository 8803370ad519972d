"""Suggest commands and options for a misspelled word. A suggestion is printed, never run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scopes.cli.command_line import CommandLine, split_words
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.table import Table
from scopes.errors import Invalid, NotFound

_MIN_RATIO = 0.6  # the default of difflib.get_close_matches
_GIT_COMMANDS = {
    "add": "append",
    "commit": "append",
    "clone": "import",
    "reset": "rewind",
    "restore": "rewind",
    "revert": "retract",
    "rm": "delete",
    "status": "show",
    "reflog": "operations",
    "fsck": "verify",
    "prune": "gc",
    "grep": "search",
    "find": "search",
    "ls": "list",
    "mv": "rename",
    "fork": "branch",
    "handoff": "resume",
    "note": "memory add",
    "resolve": "conflicts resolve",
    "continue": "merge --continue",
    "abort": "merge --abort",
}  # words of git and of other programs whose names are not similar to ours
_IN_GROUPS = {
    "rm": ("remove", "delete"),
    "get-url": ("show",),
    "add": ("register", "create", "new", "propose"),
    "new": ("register", "create", "propose"),
}
"""Words for what a group calls otherwise: the first of these that it has."""
_WITHOUT_EQUIVALENT = {"push", "pull", "stash"}  # commands of git whose names are similar to other ones of ours
_RATIO_RANGE = 0.1  # suggestions are at most this much worse than the best one


def unknown_word(table: Table, line: CommandLine) -> Invalid:
    """Return the error for an unknown command or option, with the nearest ones as its hint."""
    word = line.unknown or ""
    if word.startswith("-") and word != "-":
        names = [name for option in GLOBAL_OPTIONS for name in option.names]
        near = nearest(word.partition("=")[0], names)
        return Invalid(f"unknown global option {word!r}", hint=did_you_mean(near, "see: scopes help"))
    group = " ".join(("scopes", *line.path))
    for old in ((*line.path, word), (*line.path, word, *line.rest[:1])):
        if old in table.renamed:
            return Invalid(f"{' '.join(old)!r} is an old name; now: scopes {table.renamed[old]}")
    hint = f"see: scopes help {' '.join(line.path)}".rstrip()
    if word.startswith("conv-") and (*line.path, "list") in table.commands:
        return Invalid(f"{group} has no command {word!r}", hint=f"did you mean {group} list {word}?")
    return Invalid(
        f"{group} has no command {word!r}", hint=did_you_mean(_nearest_commands(table, line.path, word), hint)
    )


def suggest_member(table: Table, words: list[str], error: BaseException) -> None:
    """Make a command of a group the hint of an error, if the words that failed are nearly its name.

    `mcp` and `acp` are commands and groups: to them `mcp instal` is an argument too many.
    """
    if not isinstance(error, Invalid | NotFound):
        return
    line = split_words(table, words)
    word = next(iter(line.rest), "-")
    if line.command is None or word.startswith("-") or not table.members(line.path):
        return
    names = {node.path[-1]: node.spelling for node in table.members(line.path)}
    near = [names[name] for name in nearest(word, names)]
    error.hint = did_you_mean(near, error.hint or "") or None


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return up to three names similar to a word, best first; only names about as similar as the best one."""
    bare = word.lower().lstrip("-")
    scores = {name: difflib.SequenceMatcher(None, bare, name.lstrip("-")).ratio() for name in names}
    threshold = max(_MIN_RATIO, max(scores.values(), default=0) - _RATIO_RANGE)
    return sorted((name for name, score in scores.items() if score >= threshold), key=lambda name: -scores[name])[:3]


def did_you_mean(near: list[str], fallback: str) -> str:
    """Return a "did you mean" hint; without near names return `fallback`."""
    return f"did you mean {' or '.join(near)}?" if near else fallback


def _nearest_commands(table: Table, path: tuple[str, ...], word: str) -> list[str]:
    """Return the nearest commands of a group; at the top level also those of the default group."""
    spellings = {node.path[-1]: node.spelling for node in table.members(path)}
    if path and len(spellings) == 1:  # `bisect start`
        return [*spellings.values()]
    other = next((spellings[name] for name in _IN_GROUPS.get(word, ()) if path and name in spellings), None)
    if other is not None:
        return [other]
    meant = _GIT_COMMANDS.get(word) if not path else None
    first = meant.partition(" ")[0] if meant is not None else ""
    if meant is not None and ((first,) in table.commands or (first,) in table.groups):
        return [f"scopes {meant}"]
    if word in _WITHOUT_EQUIVALENT:
        return []
    return list(dict.fromkeys(spellings[name] for name in nearest(word, spellings)))
