"""Which calls run tests: commands that match a pattern of the policy, and tools that count as tests."""

from __future__ import annotations

from typing import NamedTuple

from scopes.check.globs import matches_command
from scopes.check.rules.base import Settings
from scopes.check.run import Call, Run


class CheckedTest(NamedTuple):
    """A call that ran tests; `passed` is None if its exit code is not recorded."""

    call: Call
    passed: bool | None


def list_tests(run: Run, settings: Settings) -> list[CheckedTest]:
    """Return the calls that ran tests, in order; a refused call ran none."""
    found = []
    for call in run.calls:
        if call.outcome == "denied":
            continue
        if is_test(call, settings):
            found.append(CheckedTest(call, _has_passed(call)))
    return found


def is_test(call: Call, settings: Settings) -> bool:
    """Return True if a call runs tests, or would have."""
    if call.name in settings.tools_as_test:
        return True
    return any(matches_command(pattern, command) for command in call.commands for pattern in settings.tests)


def _has_passed(call: Call) -> bool | None:
    if call.exit_code is not None:
        return call.exit_code == 0
    return {"failed": False, "ok": True}.get(call.outcome)
