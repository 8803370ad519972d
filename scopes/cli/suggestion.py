"""Suggest commands and options for a misspelled word. A suggestion is printed, never run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scopes.cli.command_line import CommandLine
from scopes.cli.table import GLOBAL_OPTIONS, Table
from scopes.errors import Invalid

_MIN_RATIO = 0.6  # the default of difflib.get_close_matches
_RATIO_RANGE = 0.1  # suggestions are at most this much worse than the best one
# What people type who know git, gh or another program: the line that does it here; none if nothing does.
_WORDS = {
    "add": "append", "commit": "append", "reset": "rewind", "restore": "rewind", "revert": "retract", "rm": "delete",
    "status": "show", "reflog": "operations", "fsck": "verify", "prune": "gc", "grep": "search", "find": "search",
    "ls": "list", "ps": "list", "sessions": "list", "conversations": "list", "open": "show", "view": "show",
    "mv": "rename", "fork": "branch", "handoff": "resume", "note": "memory add", "resolve": "conflicts resolve",
    "continue": "merge --continue", "abort": "merge --abort", "cost": "usage", "costs": "usage", "spend": "usage",
    "projects": "usage --by project", "models": "usage --by model", "stash": "", "submodule": "", "worktree": "",
}  # fmt: skip
# The same in a group: the first of these words that it has.
_IN_GROUPS = {
    "rm": ("remove", "delete"),
    "get-url": ("list",),
    "add": ("register", "create", "new", "propose", "open"),
    "new": ("register", "create", "propose", "open"),
    "create": ("open", "register"),
}
# Options that people give to another command than the one that has them.
_OPTIONS = {
    "-p": "log -p",
    "--patch": "log -p",
    "--oneline": "log --oneline",
    "--graph": "log --graph",
    "--stat": "show --stat",
}
_SAME_OPTION = {
    ("search", "--author"): "--agent",
    ("list", "--author"): "--agent",
    ("log", "--agent"): "--author",
    ("push", "--force-with-lease"): "--force",
}


def unknown_word(table: Table, line: CommandLine) -> Invalid:
    """Return the error for an unknown command or option, with the nearest ones as its hint."""
    word = line.unknown or ""
    if word.startswith("-") and word != "-":
        names = [name for option in GLOBAL_OPTIONS for name in option.names]
        option = word.partition("=")[0]
        near = command_of_option((), option) or nearest(option, names)
        return Invalid(f"unknown global option {word!r}", hint=did_you_mean(near, "see: scopes help"))
    group = " ".join(("scopes", *line.path))
    for old in ((*line.path, word, *line.rest[:1]), (*line.path, word)):
        if old in table.renamed:
            return Invalid(f"{' '.join(old)!r} is an old name; now: scopes {table.renamed[old]}")
    hint = f"see: scopes help {' '.join(line.path)}".rstrip()
    if word.startswith("conv-"):
        near = [f"{group} {'list' if line.path else 'show'} {word}"]
    else:
        near = _nearest_commands(table, line.path, word)
    return Invalid(f"{group} has no command {word!r}", hint=did_you_mean(near, hint))


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return up to three names similar to a word, best first; only names about as similar as the best one."""
    bare = word.lower().lstrip("-")
    scores = {name: difflib.SequenceMatcher(None, bare, name.lstrip("-")).ratio() for name in names}
    threshold = max(_MIN_RATIO, max(scores.values(), default=0) - _RATIO_RANGE)
    return sorted((name for name, score in scores.items() if score >= threshold), key=lambda name: -scores[name])[:3]


def did_you_mean(near: list[str], fallback: str) -> str:
    """Return a "did you mean" hint; without near names return `fallback`."""
    return f"did you mean {' or '.join(near)}?" if near else fallback


def command_of_option(path: tuple[str, ...], option: str) -> list[str]:
    """Return the option of this command, or the command, that does what an unknown option stands for."""
    same = _SAME_OPTION.get((" ".join(path), option))
    return [same] if same else [f"scopes {_OPTIONS[option]}"] if option in _OPTIONS else []


def _nearest_commands(table: Table, path: tuple[str, ...], word: str) -> list[str]:
    """Return the nearest commands of a group or of the program; of a word in the tables above the one there."""
    spellings = {node.path[-1]: node.spelling for node in table.members(path)}
    if path:
        other = [spellings[name] for name in _IN_GROUPS.get(word, ()) if name in spellings][:1]
        return other or [spellings[name] for name in nearest(word, spellings)]
    if word not in _WORDS:
        return [spellings[name] for name in nearest(word, spellings)]
    first = _WORDS[word].partition(" ")[0]
    return [f"scopes {_WORDS[word]}"] if first in spellings else []
