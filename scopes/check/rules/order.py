"""Rules about the order of edits, tests and pushes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scopes.check.calls import Call
from scopes.check.exit_status import runs_only_after
from scopes.check.findings import Finding
from scopes.check.globs import matches_command
from scopes.check.rules.base import Rule, Settings, Unknown, event_of
from scopes.check.rules.source_edits import IGNORE, PATHS, LastEdit, find_last_edit
from scopes.check.rules.tests import COUNTING, CheckedTest, has_pipefail, judge_test, list_tests, runs_tests
from scopes.check.run import Run

_PUSH = "git push **"


def _judge_tests_after_last_edit(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    found = find_last_edit(run, settings)
    if found is None:
        return []
    edit, position, path = found
    tests = list_tests(run, settings)
    if any(test.call.number > edit.number for test in tests) or _is_tested_behind(edit, position, settings):
        return []
    events = [event_of(edit, path), *([event_of(tests[-1].call)] if tests else [])]
    missing = "the last test run is before the last edit" if tests else "files were edited and no test ran"
    cure = "run the tests after the last edit, or limit `paths` to the files that the tests can see"
    return [
        Finding(
            rule=TESTS_AFTER_LAST_EDIT.id,
            level=settings.level,
            message=missing,
            events=tuple(events),
            file=path,
            cure=cure if tests else f"{cure}; {COUNTING}",
        )
    ]


def _judge_tests_passed(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    tests = list_tests(run, settings)
    if not tests:
        return Unknown(f"no test ran; {COUNTING}")
    last = tests[-1]
    if last.passed is None:
        return Unknown(last.reason)
    if last.passed:
        return []
    code = "" if last.call.exit_code is None else f" with exit code {last.call.exit_code}"
    what = "command line with the last test run" if len(last.call.commands) > 1 else "last test run"
    if last.summary:
        what, code = "last test run", ", by the summary in its output"
    return [
        Finding(
            rule=TESTS_PASSED.id,
            level=settings.level,
            message=f"the {what} failed{code}",
            events=(event_of(last.call),),
            cure="make the tests pass, or name other commands in `tests`",
        )
    ]


def _judge_push_after_tests(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    tests = list_tests(run, settings)
    found = []
    is_unknown = False
    for call in run.calls:
        pushes = (n for n, command in enumerate(call.commands) if matches_command(_PUSH, command))
        edits = ((push, find_last_edit(run, settings, call, push)) for push in pushes)
        judged = [(edit, _is_tested(call, push, edit, tests, settings)) for push, edit in edits if edit is not None]
        is_unknown = is_unknown or any(passed is None for _, passed in judged)
        untested = next((edit for edit, passed in judged if passed is False), None)
        if untested is not None:
            found.append(
                Finding(
                    rule=PUSH_AFTER_TESTS.id,
                    level=settings.level,
                    message="pushed without a passed test run since the last edit",
                    events=(event_of(call), event_of(untested.call, untested.path)),
                    attempted=call.attempted,
                    cure="run the tests before `git push`",
                )
            )
    if is_unknown and not found:
        return Unknown("the exit code of the test run before a push is not known")
    return found


def _is_tested(call: Call, push: int, edit: LastEdit, tests: Sequence[CheckedTest], settings: Settings) -> bool | None:
    """Return True if tests passed between an edit and a push, in a call or before it in its line; None if unknown."""
    earlier = [test.passed for test in tests if edit.call.number < test.call.number < call.number]
    start = edit.command or 0 if edit.call is call else 0
    before = [each for each in call.commands[start:push] if runs_tests(each, settings)]
    line, text, pipefail = call.shell or "", call.commands[push].text, has_pipefail(call)
    if True in earlier or any(runs_only_after(line, each.text, text, pipefail=pipefail) for each in before):
        return True
    own = judge_test(call, settings) if before else None
    if own is not None and (own.passed or own.summary):
        return own.passed
    return None if before or None in earlier else False


def _is_tested_behind(call: Call, position: int | None, settings: Settings) -> bool:
    """Return True if a command behind another one of the line runs tests."""
    return position is not None and any(runs_tests(each, settings) for each in call.commands[position + 1 :])


TESTS_AFTER_LAST_EDIT = Rule(
    "order/tests-after-last-edit",
    "error",
    "Tests run after the last edit",
    "The last successful edit of a file below `paths` must be followed by a test run, passed or not. A test run is a "
    "command that matches a pattern of `tests`, in the workspace; one that found no test is none. "
    "It states an order; it does not say whether the agent claimed more. "
    "What sed -i, perl -i, tee, cp, mv, patch and the output of cat, echo and printf change are edits too; it cannot "
    "see what other programs write. An edit that changes only comments does not count, nor one that `git checkout` or "
    "`git restore` undoes. `ignore` are files that no test looks at: documentation, settings of agents, "
    "of linters and of the CI system.",
    _judge_tests_after_last_edit,
    (PATHS, IGNORE),
)
TESTS_PASSED = Rule(
    "order/tests-passed",
    "error",
    "The last test run passes",
    "Decided from the exit code of the last test run. If that is the exit code of another command, as for `pytest | "
    "tail` without pipefail or `pytest; echo done`, the summary of a test runner in the output still shows a failure; "
    "a pass is not concluded from output, because an agent can print anything. Else it is unknown, and so it is if no "
    "test ran. `lint && pytest` has one exit code for all its commands. "
    "It cannot see what a passing test tests; `tests` of the policy are the commands that count.",
    _judge_tests_passed,
)
PUSH_AFTER_TESTS = Rule(
    "order/push-after-tests",
    "off",
    "A push follows a passed test run",
    "Between the last edit of a file below `paths` and each `git push` there must be a test run that passed. A push "
    "before any such edit is not judged. It cannot see edits of an earlier session. Edits are those of "
    "order/tests-after-last-edit; in `pytest && git push` the tests come before the push.",
    _judge_push_after_tests,
    (PATHS, IGNORE),
    strict="error",
)
RULES = (TESTS_AFTER_LAST_EDIT, TESTS_PASSED, PUSH_AFTER_TESTS)
