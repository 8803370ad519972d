"""Rules about the order of edits, tests and pushes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scopes.check.calls import Call
from scopes.check.comments import changes_only_comments
from scopes.check.exit_status import read_status, runs_only_after
from scopes.check.findings import Finding
from scopes.check.globs import matches_command, matches_path
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown, event_of
from scopes.check.rules.tests import COUNTING, has_pipefail, judge_test, list_tests, runs_tests
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.workspace import path_in_workspaces, resolve
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import FILE_WRITES

_PATHS = Parameter("paths", ["**"], "the files whose edits the tests can see, relative to the workspace")
_IGNORED = [
    "*.md", "*.mdx", "*.rst", "*.adoc", "*.txt", "docs/**", "LICENSE*", "CHANGELOG*", ".gitignore", ".gitattributes",
    ".editorconfig", "*.example", "**/.claude/**", "**/.codex/**", "**/.gemini/**", "**/.cursor/**", ".github/**",
    ".gitlab-ci.yml", ".circleci/**", ".pre-commit-config.yaml", ".goreleaser*", ".golangci*", ".prettierrc*",
    "*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.ico", "*.svg", "*.mp4", "*.pdf", "*.log", ".git/**",
]  # fmt: skip
_IGNORE = Parameter("ignore", _IGNORED, "files among them that no test looks at")
_PUSH = "git push **"
_EDITORS = frozenset({"sed", "gsed", "perl", "tee", "cp", "mv", "patch", "install"})
_PRINTERS = frozenset({"cat", "echo", "printf", "sed", "awk", "perl"})  # what they write into a file is an edit
# Control operators and compound commands.
_CONDITIONAL = compile_lazily(r"[&|(){}]|\b(?:if|case|for|while|until|select)\b")


class LastEdit(NamedTuple):
    """The last edit that tests can see: its call, which command of the call it is if it is one, and the path."""

    call: Call
    command: int | None
    path: str


def _last_edit(run: Run, settings: Settings, before: int | None = None) -> LastEdit | None:
    """Return the last successful edit that tests can see; files outside the workspace are left out."""
    calls = [call for call in run.calls if before is None or call.number < before]
    undone = _undone_edits(calls)
    for call in reversed(calls):
        edits = call.edits if call.outcome == "ok" else ()
        for edit in edits:
            is_undone = (call.number, edit.path) in undone or changes_only_comments(edit)
            if edit.op in FILE_WRITES and not is_undone:
                path = _visible_path(edit.path, call.directory, run, settings)
                if path is not None:
                    return LastEdit(call, None, path)
        for position, path in _edits_of_commands(call, run, settings):
            return LastEdit(call, position, path)
    return None


def _visible_path(written: str, directory: str | None, run: Run, settings: Settings) -> str | None:
    """Return the path of a file that tests can see, relative to the workspace; None for other files."""
    path = path_in_workspaces(written, directory, run.workspaces)
    if path is None or any(matches_path(pattern, path) for pattern in settings.parameters["ignore"]):
        return None
    return path if any(matches_path(pattern, path) for pattern in settings.parameters["paths"]) else None


def _edits_of_commands(call: Call, run: Run, settings: Settings) -> Iterator[tuple[int, str]]:
    """Yield the files that the commands of a successful call edit, the last one first, with the command's position."""
    if call.outcome != "ok":
        return
    for position, command in reversed(tuple(enumerate(call.commands))):
        changes = command.changes if command.program in _EDITORS else ()
        written = [change.path for change in changes if change.kind != "delete" and "$" not in change.path]
        if command.program in _PRINTERS:
            written += [each.target for each in command.redirections if each.kind != "read" and each.target]
        for each in written:
            path = _visible_path(each, command.directory, run, settings)
            if path is not None:
                yield position, path


def _undone_edits(calls: Iterable[Call]) -> set[tuple[int, str]]:
    """Return the edits, as number of the call and path, that git undid before they were added or committed."""
    undone: set[tuple[int, str]] = set()
    pending: dict[str, list[tuple[int, str]]] = {}  # by absolute path
    for call in calls:
        if call.outcome != "ok":
            continue
        for command in call.commands:
            if command.argv[:2] in {("git", "add"), ("git", "commit")}:
                pending.clear()
            for path in _restored(command, call):
                undone.update(pending.pop(path, ()))
        for edit in call.edits:
            absolute = resolve(edit.path, call.directory)
            if edit.op == "edit" and absolute is not None:
                pending.setdefault(absolute, []).append((call.number, edit.path))
    return undone


def _restored(command: Command, call: Call) -> Iterator[str]:
    """Yield the absolute paths that `git checkout [HEAD] -- PATH` and `git restore PATH` certainly restored."""
    words = command.argv[2:]
    if command.argv[:2] == ("git", "checkout"):
        given = words[1:] if words[:1] == ("HEAD",) else words
        if given[:1] != ("--",) and len(words) > 1:  # the first word can be a branch
            return
        words = given[1:] if given[:1] == ("--",) else words
    elif command.argv[:2] != ("git", "restore"):
        return
    if any(word is None or word.startswith("-") for word in words) or not _has_run(command, call):
        return
    for word in words:
        path = None if word is None else resolve(word, command.directory)
        if path is not None:
            yield path


def _has_run(command: Command, call: Call) -> bool:
    """Return True if no condition decides whether a command of a successful call runs, or its exit code shows it."""
    line = call.shell or ""
    return _CONDITIONAL.search(line) is None or read_status(line, [command.text]).passed


def _judge_tests_after_last_edit(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    found = _last_edit(run, settings)
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
        pushes = [n for n, command in enumerate(call.commands) if matches_command(_PUSH, command)]
        last = _last_edit(run, settings, call.number) if pushes else None
        if last is None:
            continue
        edit, _, path = last
        earlier = [test.passed for test in tests if edit.number < test.call.number < call.number]
        passed = [_is_tested(call, push, earlier, settings) for push in pushes]
        is_unknown = is_unknown or None in passed
        if False in passed:
            found.append(
                Finding(
                    rule=PUSH_AFTER_TESTS.id,
                    level=settings.level,
                    message="pushed without a passed test run since the last edit",
                    events=(event_of(call), event_of(edit, path)),
                    attempted=call.attempted,
                    cure="run the tests before `git push`",
                )
            )
    if is_unknown and not found:
        return Unknown("the exit code of the test run before a push is not known")
    return found


def _is_tested(call: Call, push: int, earlier: Sequence[bool | None], settings: Settings) -> bool | None:
    """Return True if tests passed in an earlier call, or before the push in its own line; None if that is unknown."""
    before = [each for each in call.commands[:push] if runs_tests(each, settings)]
    line, text, pipefail = call.shell or "", call.commands[push].text, has_pipefail(call)
    if True in earlier or any(runs_only_after(line, each.text, text, pipefail=pipefail) for each in before):
        return True
    if before and judge_test(call, settings).passed:
        return True
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
    (_PATHS, _IGNORE),
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
    (_PATHS, _IGNORE),
    strict="error",
)
RULES = (TESTS_AFTER_LAST_EDIT, TESTS_PASSED, PUSH_AFTER_TESTS)
