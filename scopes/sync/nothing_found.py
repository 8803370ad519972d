"""Errors for a selection that matches nothing, with a hint about what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from shlex import quote
from typing import Final

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.result import few, plural
from scopes.secret_scan.shown import without_secrets
from scopes.sync.local_conversations import Selection
from scopes.sync.names import RemoteName

_FEW: Final = 5
_DIGITS: Final = 12


def none_selected(where: str, selection: Selection, years: Collection[str], projects: Iterable[str]) -> NotFound:
    """Return the error about conditions that no conversation meets.

    where: the remote, such as `origin`, or the store; years: the year of each conversation there, with repetitions;
    projects: the names of its projects, if they were read from the roots
    """
    if not years:
        return NotFound(f"{where} has no conversation", hint="nothing was pushed there yet: scopes push CONV")
    wanted = [f"of the project {selection.project.text}"] if selection.project is not None else []
    wanted += [f"of {selection.year}"] if selection.year is not None else []
    hints = (
        [few("projects", map(without_secrets, projects)) or "none of them contains the directory of its project"]
        if selection.project is not None
        else []
    )
    hints += [f"years: {describe_years(years)}"] if selection.year is not None else []
    return NotFound(f"{where} has no conversation {' and '.join(wanted)}", hint="; ".join(filter(None, hints)) or None)


def describe_years(years: Iterable[str]) -> str:
    """Return how many conversations each year has, the newest first: at most a few, and how many more years."""
    counts = sorted(Counter(years).items(), reverse=True)
    shown = ", ".join(f"{year} ({count})" for year, count in counts[:_FEW])
    return shown + (f" and {len(counts) - _FEW} more" if len(counts) > _FEW else "")


def none_named(remote: str, missing: Iterable[str], there: Iterable[RemoteName]) -> NotFound:
    """Return the error about conversations that a remote does not have; `there` are those that it has."""
    text = f"{remote} does not have {', '.join(missing)}"
    roots = describe_roots(name.root for name in there)
    if not roots:
        return NotFound(text, hint="it has no conversation; nothing was pushed there yet: scopes push CONV")
    hint = f"it has: {roots}; their titles: scopes fetch {quote(remote)} --list"
    return NotFound(text, hint=hint)


def describe_roots(roots: Iterable[Oid]) -> str:
    """Return the beginnings of the ids of roots: at most a few, and how many more there are."""
    found = sorted(roots)
    shown = ", ".join(root[:_DIGITS] for root in found[:_FEW])
    number = len(found) - _FEW
    return shown + (f" and {number} more {plural(number, 'conversation')}" if number > 0 else "")
