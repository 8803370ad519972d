"""Which calls run tests: commands that match a pattern of the policy, and tools that count as tests."""

from __future__ import annotations

from typing import NamedTuple

from scopes.check.globs import matches_command
from scopes.check.rules.base import Settings
from scopes.check.run import Call, Run


class CheckedTest(NamedTuple):
    """A call that ran tests; `passed` is None if their exit code is not recorded, as in `pytest | tail`."""

    call: Call
    passed: bool | None


def list_tests(run: Run, settings: Settings) -> list[CheckedTest]:
    """Return the calls that ran tests, in order; a refused call ran none."""
    found = []
    for call in run.calls:
        if call.outcome == "denied":
            continue
        if is_test(call, settings):
            found.append(CheckedTest(call, _has_passed(call, settings)))
    return found


def is_test(call: Call, settings: Settings) -> bool:
    """Return True if a call runs tests, or would have."""
    if call.name in settings.tools_as_test:
        return True
    return any(matches_command(pattern, command) for command in call.commands for pattern in settings.tests)


def _has_passed(call: Call, settings: Settings) -> bool | None:
    passed = {"failed": False, "ok": True}.get(call.outcome) if call.exit_code is None else call.exit_code == 0
    return None if passed and _is_piped(call, settings) else passed


def _is_piped(call: Call, settings: Settings) -> bool:
    """Return True if other programs read the output of all tests: a pipeline has the exit code of its last program."""
    tests = [each for each in call.commands if any(matches_command(pattern, each) for pattern in settings.tests)]
    readers = {each.piped_from for each in call.commands}
    return bool(tests) and all(each.argv in readers for each in tests) and "pipefail" not in (call.shell or "")
