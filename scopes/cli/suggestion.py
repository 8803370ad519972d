"""What somebody may have meant by a word that names nothing. Never run, only said."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scopes.cli.command_line import CommandLine
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.table import Table
from scopes.errors import Invalid

LIKE = 0.6  # from which ratio on two words are alike, as in difflib
ABOUT_EQUAL = 0.1


def unknown_word(table: Table, line: CommandLine) -> Invalid:
    """Make the refusal of a word that is no command or option, with the nearest ones as hint."""
    word = line.unknown or ""
    if word.startswith("-") and word != "-":
        names = [name for option in GLOBAL_OPTIONS for name in option.names]
        near = nearest(word.partition("=")[0], names)
        return Invalid(f"there is no option {word!r} before a command", hint=meant(near, "see: scopes help"))
    where = table.spelling(line.path) if line.path else "scopes"
    hint = f"see: scopes help {' '.join(line.path)}".rstrip()
    return Invalid(f"{where} has no command {word!r}", hint=meant(_nearest_commands(table, line.path, word), hint))


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return the one or few names that are about equally near to a word, the nearest first; often there is none."""
    scores = {name: difflib.SequenceMatcher(None, word.lower(), name).ratio() for name in names}
    enough = max(LIKE, max(scores.values(), default=0) - ABOUT_EQUAL)
    return sorted((name for name, score in scores.items() if score >= enough), key=lambda name: -scores[name])[:3]


def meant(near: list[str], otherwise: str) -> str:
    """Ask whether one of the nearest was meant; where there is none, say what else helps."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def _nearest_commands(table: Table, path: tuple[str, ...], word: str) -> list[str]:
    """Find the nearest commands in the group at hand and, from the top, in the default group."""
    known = {node.path[-1]: table.spelling(node.path) for node in table.members(path)}
    if not path:
        lifted = {node.path[-1]: table.spelling(node.path) for node in table.members(table.default)}
        known = lifted | known | {name: f"scopes {name}" for name in table.aliases}
    return list(dict.fromkeys(known[name] for name in nearest(word, known)))
