"""Compare two runs of one task: tools, calls and their order, files, commands, tests, cost, tokens and time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from typing import Any, NamedTuple

from scopes.check.calls import Call
from scopes.check.policy import Policy
from scopes.check.rules.base import Settings, Unknown
from scopes.check.rules.files import list_writes
from scopes.check.rules.run import FAILED, INCOMPLETE
from scopes.check.rules.tests import list_tests
from scopes.check.run import Run
from scopes.check.workspace import relative_to, resolve
from scopes.conversation.diff import diff_lines
from scopes.model.message import FILE_WRITES
from scopes.result import Result
from scopes.secret_scan.shown import hide_secrets

MODES = ("strict", "unordered", "subset", "superset")  # the words of agentevals
_ENDS = "how calls and tests ended"
_NOT_COMPARED = {
    "strict": _ENDS,
    "unordered": f"the order of the calls, and {_ENDS}",
    "subset": f"the order of the calls, calls that the new run lacks, and {_ENDS}",
    "superset": f"the order of the calls, calls that only the new run has, and {_ENDS}",
}
_MAX_TEXT = 300  # characters of a call


class Amount(NamedTuple):
    """A number of each run, such as its calls or its cost; None if it is unknown."""

    name: str
    old: float | None
    new: float | None


class Use(NamedTuple):
    """How often each run used a tool, wrote a file or ran a command."""

    name: str
    old: int
    new: int


class RunSide(NamedTuple):
    """What one of the runs was asked, who did it, and its last answer; None if that is unknown."""

    prompt: str | None = None
    agent: str | None = None
    models: tuple[str, ...] = ()
    last_answer: str | None = None
    conversation: str | None = None


_UNKNOWN = RunSide()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison(Result):
    """Two runs side by side; a call counts with its arguments, the workspace in them replaced by `.`.

    order: unified diff of the calls in their order; empty if they are equal
    only_old, only_new: the calls that the other run lacks, each as often as it lacks them
    tests_old, tests_new: the test runs in order, each passed, failed or unknown
    faults_old, faults_new: why a run is incomplete or failed; if only the new one is, the runs differ in every mode
    """

    old: str
    new: str
    mode: str
    differs: bool
    amounts: tuple[Amount, ...]
    tools: tuple[Use, ...]
    files: tuple[Use, ...]
    commands: tuple[Use, ...]
    order: tuple[str, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    tests_old: tuple[str, ...]
    tests_new: tuple[str, ...]
    faults_old: tuple[str, ...] = ()
    faults_new: tuple[str, ...] = ()
    about_old: RunSide = _UNKNOWN
    about_new: RunSide = _UNKNOWN

    @property
    def is_broken(self) -> bool:
        """Return True if only the new run was cut off or failed."""
        return bool(self.faults_new) and not self.faults_old

    @property
    def not_compared(self) -> str:
        """Return what the mode leaves out: a difference in it does not make the runs differ."""
        return _NOT_COMPARED.get(self.mode, _ENDS)

    @property
    def exit_code(self) -> int:
        """One if the runs differ in the mode."""
        return int(self.differs)


def compare_runs(first: Run, second: Run, mode: str, policy: Policy) -> RunComparison:
    """Compare a run with an earlier one, the first.

    A run that was cut off has fewer calls than it would have: such a new run differs from an old one that ended.

    The mode decides whether they differ: `strict` needs the same calls in the same order, `unordered` in any order;
    `subset` allows the second run no call that the first lacks, `superset` needs each call of the first in the second.
    """
    faults = [tuple(_walk_faults(run)) for run in (first, second)]
    is_lossy = first.is_stream_only != second.is_stream_only
    if is_lossy:  # an event stream of Codex does not state where it ran
        directory = first.directory or second.directory
        first, second = (replace(run, directory=run.directory or directory) for run in (first, second))
        # refused calls are missing in the stream
        first, second = (
            replace(run, calls=tuple(call for call in run.calls if call.outcome != "denied")) for run in (first, second)
        )
    old, new = ([describe_call(call, run, is_lossy=is_lossy) for call in run.calls] for run in (first, second))
    if is_lossy and len(old) == len(new):
        old, new = (_sort_answers(texts, second if first.is_stream_only else first) for texts in (old, new))
    missing, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    differs = {
        "strict": old != new,
        "unordered": bool(missing or added),
        "subset": bool(added),
        "superset": bool(missing),
    }
    tests = [tuple(_walk_tests(run, policy)) for run in (first, second)]
    return RunComparison(
        old=first.name,
        new=second.name,
        mode=mode,
        differs=differs[mode] or bool(faults[1] and not faults[0]),
        amounts=tuple(_amounts(first, second)),
        tools=_uses(_tools, first, second),
        files=_uses(_files, first, second),
        commands=_uses(_commands, first, second),
        order=() if old == new else diff_lines([_shown(text) for text in old], [_shown(text) for text in new]),
        only_old=tuple(_shown(text) for text in missing.elements()),
        only_new=tuple(_shown(text) for text in added.elements()),
        tests_old=tests[0],
        tests_new=tests[1],
        faults_old=faults[0],
        faults_new=faults[1],
        about_old=_describe_run(first),
        about_new=_describe_run(second),
    )


def _describe_run(run: Run) -> RunSide:
    prompt = next((text.text for text in run.texts if text.author_kind == "human" and text.text.strip()), None)
    agent = next((text.author for text in run.texts if text.author_kind == "agent"), None)
    last = run.final_text
    return RunSide(
        prompt=None if prompt is None else _shown(prompt),
        agent=agent,
        models=run.models,
        last_answer=None if last is None else _shown(last.text),
        conversation=run.conversation,
    )


def _walk_faults(run: Run) -> Iterator[str]:
    """Yield how a run shows that it was cut off or failed."""
    for rule in (INCOMPLETE, FAILED):
        found = rule.judge(run, Settings("error", {}, ()))
        yield from () if isinstance(found, Unknown) else (_shown(finding.message) for finding in found)


def _walk_tests(run: Run, policy: Policy) -> Iterator[str]:
    """Yield the result of each test run."""
    settings = Settings("error", {}, policy.tests, policy.tools_as_test, run.workspaces)
    yield from (_WORDS[test.passed] for test in list_tests(run, settings))


_WORDS = {True: "passed", False: "failed", None: "unknown"}


def _sort_answers(texts: list[str], session: Run) -> list[str]:
    """Return the calls of a run with those that are in one answer of its session file sorted.

    An event stream has parallel calls in the order in which they ended, a session file in that of the answer.
    """
    rest = iter(texts)
    answers = [len([*calls]) for _, calls in groupby(session.calls, key=lambda call: call.message)]
    return [text for size in answers for text in sorted(islice(rest, size))] + [*rest]


def describe_call(call: Call, run: Run, *, is_lossy: bool = False) -> str:
    """Return a call as its tool and arguments, equal for equal calls of runs in different workspaces.

    Of a shell call only the command counts: agents describe it in other words each time. With `is_lossy` only the paths
    of an edit count: an event stream can lack what was edited.
    """
    shorten = _replacer(run)
    if call.shell is not None:
        return f"{call.name}: {shorten(call.shell)}"
    writes = [edit.path for edit in call.edits if edit.op in FILE_WRITES] if is_lossy else []
    if writes:
        paths = ((path, resolve(path, call.directory or run.directory)) for path in writes)
        names = sorted((resolved and relative_to(resolved, run.directory)) or path for path, resolved in paths)
        return f"{call.name} {', '.join(names)}"
    given = _replaced(call.call.fields.get("input", call.call.fields.get("input_text")), shorten)
    return f"{call.name} {json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)}"


def _replacer(run: Run) -> Callable[[str], str]:
    if not run.directory or len(run.directory.rstrip("/\\")) < 2:
        return str
    pattern = re.compile(re.escape(run.directory.rstrip("/\\")) + r"(?![\w.-])")
    return partial(pattern.sub, ".")


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    """Return a JSON value with all its texts replaced."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, dict):
        return {name: _replaced(each, replace) for name, each in value.items()}
    return [_replaced(each, replace) for each in value] if isinstance(value, list) else value


def _shown(text: str) -> str:
    text = hide_secrets(" ".join(text.split()))
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def _amounts(first: Run, second: Run) -> Iterable[Amount]:
    pairs: Sequence[tuple[str, Callable[[Run], float | None]]] = (
        ("calls", lambda run: len(run.calls)),
        ("failed calls", lambda run: sum(call.outcome == "failed" for call in run.calls)),
        ("denied calls", lambda run: sum(call.outcome == "denied" for call in run.calls)),
        ("answers", lambda run: run.answers),
        ("input tokens", lambda run: None if run.tokens is None else run.tokens.input),
        ("output tokens", lambda run: None if run.tokens is None else run.tokens.output),
        ("cost in USD", lambda run: None if run.end is None else run.end.cost_usd),
        ("seconds", _seconds),
    )
    for name, read in pairs:
        yield Amount(name, read(first), read(second))


def _seconds(run: Run) -> float | None:
    return run.seconds if run.end is None or run.end.seconds is None else run.end.seconds


def _uses(read: Callable[[Run], Iterable[str]], first: Run, second: Run) -> tuple[Use, ...]:
    old, new = Counter(read(first)), Counter(read(second))
    return tuple(Use(_shown(name), old[name], new[name]) for name in sorted(old.keys() | new.keys()))


def _tools(run: Run) -> Iterable[str]:
    return (call.name for call in run.calls)


def _files(run: Run) -> Iterable[str]:
    """Yield the files that a run writes, relative to the workspace where they are in it."""
    for write in list_writes(run):
        path = resolve(write.path, write.directory or run.directory)
        yield (None if path is None else relative_to(path, run.directory)) or write.path


def _commands(run: Run) -> Iterable[str]:
    """Yield the program of each command, with its first operand for programs that have subcommands."""
    for call in run.calls:
        for command in call.commands:
            words = [word or "?" for word in command.argv[:2]]
            is_subcommand = len(words) > 1 and re.fullmatch(r"[a-z][a-z-]*", words[1]) is not None
            yield " ".join([command.program or "?", *words[1:]]) if is_subcommand else command.program or "?"
