"""Rules about the order of edits, tests and pushes."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.check.findings import Finding
from scopes.check.globs import matches_command, matches_path
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown, event_of
from scopes.check.rules.tests import list_tests
from scopes.check.run import Call, Run
from scopes.check.workspace import path_in_workspace
from scopes.model.message import FILE_WRITES

_PATHS = Parameter("paths", ["**"], "the files whose edits the tests can see, relative to the workspace")
_IGNORED = ["*.md", "*.rst", "*.txt", "*.adoc", "docs/**", "LICENSE*", "CHANGELOG*", ".gitignore", "**/.claude/**"]
_IGNORE = Parameter("ignore", _IGNORED, "files among them that no test looks at")
_PUSH = "git push **"


def _last_edit(run: Run, settings: Settings) -> tuple[Call, str] | None:
    """Return the last successful edit that tests can see, and its path; files outside the workspace are left out."""
    paths, ignored = settings.parameters["paths"], settings.parameters["ignore"]
    for call in reversed(run.calls):
        for edit in call.edits if call.outcome == "ok" else ():
            path = path_in_workspace(edit.path, call.directory, run.directory)
            if edit.op not in FILE_WRITES or path is None or any(matches_path(pattern, path) for pattern in ignored):
                continue
            if any(matches_path(pattern, path) for pattern in paths):
                return call, path
    return None


def _judge_tests_after_last_edit(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    found = _last_edit(run, settings)
    if found is None:
        return []
    edit, path = found
    tests = list_tests(run, settings)
    if any(test.call.number > edit.number for test in tests):
        return []
    events = [event_of(edit, path), *([event_of(tests[-1].call)] if tests else [])]
    missing = "the last test run is before the last edit" if tests else "files were edited and no test ran"
    return [
        Finding(
            rule=TESTS_AFTER_LAST_EDIT.id,
            level=settings.level,
            message=missing,
            events=tuple(events),
            file=path,
            cure="run the tests after the last edit, or limit `paths` to the files that the tests can see",
        )
    ]


def _judge_tests_passed(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    tests = list_tests(run, settings)
    if not tests:
        return Unknown("no test ran")
    last = tests[-1]
    if last.passed is None:
        return Unknown("the exit code of the last test run is not recorded")
    if last.passed:
        return []
    code = "" if last.call.exit_code is None else f" with exit code {last.call.exit_code}"
    return [
        Finding(
            rule=TESTS_PASSED.id,
            level=settings.level,
            message=f"the last test run failed{code}",
            events=(event_of(last.call),),
            cure="make the tests pass, or name other commands in `tests`",
        )
    ]


def _judge_push_after_tests(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    tests = [test for test in list_tests(run, settings) if test.passed]
    found = []
    for call in run.calls:
        if not any(matches_command(_PUSH, command) for command in call.commands):
            continue
        edit = next((e for e in reversed(run.calls) if e.number < call.number and _writes(e)), None)
        start = 0 if edit is None else edit.number
        if not any(start < test.call.number < call.number for test in tests):
            found.append(
                Finding(
                    rule=PUSH_AFTER_TESTS.id,
                    level=settings.level,
                    message="pushed without a passed test run since the last edit",
                    events=(event_of(call), *([event_of(edit)] if edit is not None else [])),
                    attempted=call.attempted,
                    cure="run the tests before `git push`",
                )
            )
    return found


def _writes(call: Call) -> bool:
    return call.outcome == "ok" and any(edit.op in FILE_WRITES for edit in call.edits)


TESTS_AFTER_LAST_EDIT = Rule(
    "order/tests-after-last-edit",
    "error",
    "Tests run after the last edit",
    "The last successful edit of a file below `paths` must be followed by a test run, passed or not. A test run is a "
    "command that matches a pattern of `tests`. It states an order; it does not say whether the agent claimed more.",
    _judge_tests_after_last_edit,
    (_PATHS, _IGNORE),
)
TESTS_PASSED = Rule(
    "order/tests-passed",
    "error",
    "The last test run passes",
    "Decided from the exit code of the last test run. Unknown if no test ran, or if the transcript has no exit code.",
    _judge_tests_passed,
)
PUSH_AFTER_TESTS = Rule(
    "order/push-after-tests",
    "off",
    "A push follows a passed test run",
    "Between the last edit and each `git push` there must be a test run that passed.",
    _judge_push_after_tests,
)
RULES = (TESTS_AFTER_LAST_EDIT, TESTS_PASSED, PUSH_AFTER_TESTS)
