"""Which calls run tests, and whether they passed: commands that match a pattern, and tools that count as tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scopes.check.calls import Call
from scopes.check.exit_status import read_status
from scopes.check.globs import matches_one
from scopes.check.rules.base import Settings
from scopes.check.run import Run
from scopes.check.runner_summaries import has_a_failure, has_failed, ran_none
from scopes.check.shell_command import Command
from scopes.check.workspace import relative_to, resolve
from scopes.lazy_patterns import compile_lazily

_PIPEFAIL = compile_lazily(r"(?:\S*/)?(?:ba|k|z)sh\s[^;|&\n'\"]*-\w*o\s+pipefail\b")
_NO_RUN = frozenset({
    "--version", "--help", "--collect-only", "--no-run", "--list", "--listTests", "--list-tests", "--dry-run",
    "-DskipTests", "-DskipTests=true", "-Dmaven.test.skip=true",
})  # fmt: skip
_NO_RUN_OF = {
    "pytest": frozenset({"-h", "-V", "--co", "--fixtures", "--fixtures-per-test", "--markers", "--setup-plan"}),
    "go": frozenset({"-c", "-list", "-n"}),
    "make": frozenset({"-n", "-h", "--just-print"}),
    "cargo": frozenset({"-h"}),
    "unittest": frozenset({"-h"}),
    "mvn": frozenset({"-v", "-h"}),
    "gradle": frozenset({"-v", "-h", "-m"}),
    "gradlew": frozenset({"-v", "-h", "-m"}),
    "jest": frozenset({"-h", "-v"}),
    "vitest": frozenset({"-h", "-v"}),
}  # which options make a runner run nothing: from their own --help
COUNTING = "`tests` of the policy names the commands that count"
NO_CODE = "the exit code of the last test run is not recorded"
ONE_FAILED = "one of several test runs in the line failed by the summary in its output, and the last one passed"
OTHER_CODE = "the exit code is not that of the last test run, and its output has no summary of failures"


class CheckedTest(NamedTuple):
    """A call that ran tests; `passed` is None if it is unknown, for the `reason`.

    summary: that it failed was read from its output, because the exit code is that of another command
    """

    call: Call
    passed: bool | None
    reason: str = ""
    summary: bool = False


def list_tests(run: Run, settings: Settings) -> list[CheckedTest]:
    """Return the calls that ran tests, in order; a refused call ran none."""
    return [judge_test(call, settings) for call in run.calls if call.outcome != "denied" and is_test(call, settings)]


def is_test(call: Call, settings: Settings) -> bool:
    """Return True if a call runs tests, or would have; False if its output says that it found none."""
    if call.name not in settings.tools_as_test and not any(runs_tests(each, settings) for each in call.commands):
        return False
    output = _output_of(call)
    return output is None or not ran_none(output)


def _output_of(call: Call) -> str | None:
    output = None if call.result is None else call.result.fields.get("output")
    return output if isinstance(output, str) else None


def runs_tests(command: Command, settings: Settings) -> bool:
    """Return True if a command matches a pattern of tests, runs in the workspace, and has no option to run nothing."""
    if not matches_one(settings.tests, command) or _is_elsewhere(command.directory, settings.workspaces):
        return False
    words = command.words
    return not (_NO_RUN.intersection(words) or _NO_RUN_OF.get(_runner(words), frozenset()).intersection(words))


def _is_elsewhere(directory: str | None, workspaces: Sequence[str]) -> bool:
    """Return True if a directory is known, is in no workspace, and is not around one: its tests are of other code."""
    resolved = None if directory is None else resolve(directory, None)
    if resolved is None or resolved.startswith("~"):
        return False
    near = (relative_to(resolved, each) is not None or relative_to(each, resolved) is not None for each in workspaces)
    return bool(workspaces) and not any(near)


def _runner(words: Sequence[str]) -> str:
    """Return the first word that names a runner with options of its own; an empty text if there is none."""
    names = (word.rpartition("/")[2] for word in words)
    return next((name for name in names if name in _NO_RUN_OF), "")


def judge_test(call: Call, settings: Settings) -> CheckedTest:
    """Return whether the tests of a call passed, which is not always its own outcome: `pytest | tail` is unknown."""
    passed = {"failed": False, "ok": True}.get(call.outcome) if call.exit_code is None else call.exit_code == 0
    tests = [each for each in call.commands if runs_tests(each, settings)]
    if passed is None or call.shell is None or not tests:
        return CheckedTest(call, passed, NO_CODE if passed is None else "")
    status = read_status(call.shell, [each.text for each in tests], pipefail=has_pipefail(call))
    last = max(n for n, each in enumerate(call.commands) if runs_tests(each, settings))
    output = _output_of(call)
    if (status.passed and is_last_of_its_shell(call, last)) if passed else status.failed:
        is_doubtful = passed and len(tests) > 1 and has_a_failure(output or "")
        return CheckedTest(call, None, ONE_FAILED) if is_doubtful else CheckedTest(call, passed)
    if output is not None and has_failed(output, len(tests)):
        return CheckedTest(call, passed=False, summary=True)
    return CheckedTest(call, None, OTHER_CODE)


def has_pipefail(call: Call) -> bool:
    """Return True if `set -o pipefail`, as a command, or `bash -o pipefail` applies."""
    options = [each.words for each in call.commands if each.program == "set" and "pipefail" in each.words]
    if options:
        return not any(word.startswith("+") for words in options for word in words)
    return any(_PIPEFAIL.search(wrapper) for each in call.commands for wrapper in each.wrappers) or (
        _PIPEFAIL.match(call.shell or "") is not None
    )


def is_last_of_its_shell(call: Call, position: int) -> bool:
    """Return True unless a command follows the one at a position in the same `bash -c`, or reads its output there."""
    commands = call.commands
    wrappers = commands[position].wrappers
    is_shell = any(each.split()[0] in {"bash", "sh", "zsh", "eval", "ssh", "su"} for each in wrappers if each)
    return not is_shell or not any(each.wrappers == wrappers for each in commands[position + 1 :])
