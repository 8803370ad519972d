"""The rule that there is a run; the check itself finds missing ones, because there is no run to judge."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.check.findings import Finding
from scopes.check.rules.base import Rule, Settings
from scopes.check.run import Run

CURE = "see whether the agent ran, and where it left its transcript"


def _find_nothing(_run: Run, _settings: Settings) -> Iterable[Finding]:
    return ()


MISSING = Rule(
    "run/missing",
    "error",
    "There is a run to check",
    "A path that does not exist, cannot be read, or has no transcript of a known format is a finding, and so is a "
    "check without any run. With the level off, a note names what is missing.",
    _find_nothing,
    needs_calls=False,
)
RULES = (MISSING,)
