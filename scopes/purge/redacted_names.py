"""Names of branches and tags in a redacted copy: the placeholder of a secret has to be valid in a name."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from scopes.ids import BranchName
from scopes.lazy_patterns import compile_lazily
from scopes.secret_scan.clearance import Gate
from scopes.store.refs import RefNameConflicts

_PLACEHOLDER = compile_lazily(r"\[redacted:([a-z0-9-]+)(?::[0-9a-f]+)?\]")


class RedactedNames:
    """The names of the copy by those of the original; no two conflict. A name without a secret is not changed."""

    def __init__(self, gate: Gate, names: Iterable[str], place: str) -> None:
        cleared = {name: gate.clear_text(name, place) for name in names}
        conflicts = RefNameConflicts(name for name, new in cleared.items() if new == name)
        self._names: dict[str, str] = {}
        for name, new in cleared.items():
            self._names[name] = name if new == name else _find_free(_PLACEHOLDER.sub(r"redacted-\1", new), conflicts)

    def tag(self, name: str) -> str:
        """Return the name of a tag in the copy."""
        return self._names[name]

    def branch(self, name: BranchName | None) -> BranchName | None:
        """Return the name of a branch in the copy; None for a branch that is not in it."""
        return None if name is None or name not in self._names else BranchName(self._names[name])


def _find_free(name: str, conflicts: RefNameConflicts) -> str:
    for number in count(1):
        candidate = name if number == 1 else f"{name}-{number}"
        if conflicts.find(candidate) is None:
            break
    conflicts.add(candidate)
    return candidate
