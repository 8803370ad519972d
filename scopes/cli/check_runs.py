"""The runs that `scopes check` and `diff` judge: transcripts, read into a temporary store, or stored conversations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from scopes.check.check import Checked, check
from scopes.check.findings import Finding
from scopes.check.policy import Policy
from scopes.check.rule_tests import (
    Case,
    Expected,
    RuleTests,
    compare_expected,
    find_rule_tests,
    find_uncovered,
    parse_expected,
)
from scopes.check.run import Run
from scopes.check.run_reader import read_empty_run
from scopes.check.workspace import find_checkout
from scopes.cli.check_policy import is_path, read_baseline_of, read_text
from scopes.cli.import_runner import CollectedSources, collect_sources, import_into
from scopes.cli.input import is_open_pipe
from scopes.cli.invocation import Invocation
from scopes.conversation.list import ALL, ListFilter, list_conversations
from scopes.errors import CannotImport, Inaccessible, Invalid, NotFound
from scopes.history.handles import Scope, resolve_scope
from scopes.history.names import conversation_ids
from scopes.importers.formats.base import UNKNOWN_FORMAT
from scopes.importers.import_sources import ImportOptions
from scopes.render.output import progress
from scopes.result import Note, plural
from scopes.store.repository import Repository, empty_store

_NAMES = ("conv-", "@")
_MAX_NAMES = 5
_EMPTY = "the file is empty"


@dataclass(slots=True)
class Runs:
    """The runs to check: their store, names and scopes.

    missing: names and reasons of those that are not there or cannot be read
    empty: those of transcripts without a message, which are not in the store, by path: a file can be named and lie
        below a folder that is named
    unknown: files below a folder that were skipped because their format is not known
    left_out: what filters left out, as the end of a sentence; empty if nothing was
    """

    repository: Repository
    scopes: Sequence[tuple[str | None, Scope]] = ()
    missing: list[tuple[str, str]] = field(default_factory=list)
    empty: dict[str, Run] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    left_out: str = ""

    def notes(self) -> Iterator[Note]:
        """Yield what the user should know about transcripts that are not judged."""
        if self.unknown:
            names = ", ".join(map(os.path.basename, [*self.unknown][:_MAX_NAMES]))
            more = f" and {len(self.unknown) - _MAX_NAMES} more" if len(self.unknown) > _MAX_NAMES else ""
            hint = "name such a file itself if it must be a run"
            yield Note(f"not judged, the format is not known: {names}{more}", hint)
        if self.left_out:
            yield Note(f"not judged: {self.left_out}")


def check_runs(
    invocation: Invocation,
    targets: Sequence[str],
    wanted: ListFilter,
    policy: Policy,
    *,
    baseline: str | None = None,
    agent_exit: int | None = None,
    unknown_fails: bool = False,
) -> Checked:
    """Check the runs of paths, or of stored conversations.

    baseline: what was found there does not count
    agent_exit: how the agent ended
    unknown_fails: unknown verdicts count

    Raises:
        Invalid: the targets are paths and conversations, or options narrow what was named.
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    paths, names = split_targets(invocation, targets)
    known, notes = read_baseline_of(invocation, baseline, policy)
    with (
        open_runs(invocation, paths, names, wanted) as runs,
        progress(invocation.output(), "checking", len(runs.scopes)) as on_progress,
    ):
        checked = check(
            runs.repository,
            runs.scopes,
            policy,
            missing=[(_relative_to(invocation.cwd, name), reason) for name, reason in runs.missing],
            left_out=runs.left_out,
            empty=tuple(runs.empty.values()),
            baseline=known,
            agent_exit=agent_exit,
            unknown_fails=unknown_fails,
            checkout=find_checkout(invocation.environ),
            on_progress=on_progress,
        )
        if not targets and is_open_pipe(invocation):
            notes = (*notes, Note("standard input is a pipe and was not read", "to check it: scopes check -"))
        checked = replace(checked, notes=(*checked.notes, *notes, *runs.notes()))
    return with_relative_paths(checked, invocation.cwd)


def with_relative_paths(checked: Checked, directory: str) -> Checked:
    """Return the verdicts with paths of transcripts below a directory relative to it; others stay absolute."""

    def shorten(finding: Finding) -> Finding:
        events = (each._replace(path=each.path and _relative_to(directory, each.path)) for each in finding.events)
        return finding._replace(events=tuple(events))

    runs = tuple(
        replace(
            run,
            name=_relative_to(directory, run.name),
            sources=tuple(each._replace(path=_relative_to(directory, each.path)) for each in run.sources),
            verdicts=tuple(each._replace(findings=tuple(map(shorten, each.findings))) for each in run.verdicts),
        )
        for run in checked.runs
    )
    return replace(checked, runs=runs)


def _relative_to(directory: str, path: str) -> str:
    return path.removeprefix(directory.rstrip("/") + "/")


def split_targets(invocation: Invocation, targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the targets that are paths, and those that name stored conversations.

    A word that names neither is a path: the folder of an agent that did not run is missing, and that is a finding.

    Raises:
        Invalid: there are both.
        Ambiguous: a name fits several conversations.
    """
    names = [target for target in targets if not is_path(target) and _is_stored_run(invocation, target)]
    paths = [target for target in targets if target not in names]
    if paths and names:
        missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
        if missing:
            raise Invalid(f"there is no file {', '.join(missing)}", hint="name existing files")
        raise Invalid("paths and stored conversations cannot be checked together", hint="use two commands")
    return paths, names


def _is_stored_run(invocation: Invocation, target: str) -> bool:
    """Return True if a target has the form of a conversation's name, or is the name of a stored one."""
    if not target or target.startswith(_NAMES):
        return True
    try:
        repository = invocation.find_repository()
        return repository is not None and bool(resolve_scope(repository, target))
    except NotFound:  # the conversation, or the store
        return False


@contextmanager
def open_runs(
    invocation: Invocation, paths: Sequence[str], names: Sequence[str], wanted: ListFilter = ALL
) -> Iterator[Runs]:
    """Open the runs of paths in a temporary store, or those of stored conversations; without either all stored ones.

    `wanted` narrows the transcripts below folders, or the stored conversations if none is named; what is named is
    always judged.

    Raises:
        Invalid: `wanted` narrows what was named.
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    is_narrowed = wanted.since is not None or bool(wanted.projects)
    if is_narrowed and (names or (paths and all(path == "-" or os.path.isfile(path) for path in paths))):
        raise Invalid(
            "--since and --project narrow folders and the stored conversations; these are named",
            hint="leave out the names, or the options",
        )
    if not paths:
        yield _open_stored(invocation, names, wanted)
        return
    with empty_store() as repository:
        yield _read_paths(invocation, repository, paths, wanted)


def _open_stored(invocation: Invocation, names: Sequence[str], wanted: ListFilter) -> Runs:
    repository = invocation.find_repository()
    if repository is None:
        what = f"file or conversation {', '.join(names)}" if names else "run to check"
        raise NotFound(
            f"there is no {what}, and no store with conversations yet",
            hint="give what the agent left: scopes check agent.jsonl ~/.codex/sessions\n"
            "standard input is read for -: codex exec --json ... | scopes check -\n"
            "or store the sessions of this machine first: scopes import",
        )
    rows = []
    if not names:
        listed = list_conversations(repository, invocation.index_directory, wanted=wanted, details=False)
        rows = sorted(row.id for row in listed.conversations)
    count = 0 if names else len(conversation_ids(repository)) - len(rows)
    options = [("--since", wanted.since is not None), ("--project", bool(wanted.projects))]
    given = " and ".join(option for option, is_given in options if is_given)
    text = _count_left_out([(count, "conversation", given)])
    scopes = [(name, resolve_scope(repository, name)) for name in names or rows]
    named = [(name if name.startswith(scope.conversation) else scope.conversation, scope) for name, scope in scopes]
    return Runs(repository, named, left_out=text)


def _read_paths(invocation: Invocation, repository: Repository, paths: Sequence[str], wanted: ListFilter) -> Runs:
    """Read the transcripts of files and folders into a store; only those below a folder are narrowed."""
    runs, older, elsewhere = Runs(repository), 0, 0
    for path in paths:
        if not is_path(path):
            runs.missing.append((path, "there is no such file, folder or stored conversation"))
            continue
        options = ImportOptions()
        if os.path.isdir(path):
            options = ImportOptions(since=wanted.since, projects=wanted.projects or None)
        collected = CollectedSources([], (), ())
        try:
            collected = collect_sources(invocation, [path])
            imported = import_into(invocation, repository, collected, options)
        except (CannotImport, Inaccessible, NotFound) as error:
            _add_failed(runs, path, collected, error.message)
            continue
        _add_empty_files(runs, collected)
        listed = {name for name, _ in runs.missing}
        skipped = [each for each in imported.skipped if each.path not in listed]
        runs.missing += ((each.path, each.reason) for each in skipped if each.error is not None)
        runs.unknown.update((each.path, None) for each in skipped if each.reason == UNKNOWN_FORMAT)
        older, elsewhere = older + imported.older_sources, elsewhere + imported.other_sessions
        unread = {each.path for each in imported.skipped if each.error is None}
        for source in collected.sources:
            if source.path in unread and (source.named or options == ImportOptions()):
                with suppress(CannotImport, OSError):  # of no known format
                    run = read_empty_run(source)
                    if run is not None:
                        runs.empty.setdefault(run.name, run)
    runs.scopes = [(None, resolve_scope(repository, name)) for name in conversation_ids(repository)]
    runs.left_out = _count_left_out([(older, "transcript", "--since"), (elsewhere, "transcript", "--project")])
    return runs


def _add_failed(runs: Runs, path: str, collected: CollectedSources, reason: str) -> None:
    """Add a path of which nothing can be read, and the empty files below it."""
    if path == "-":
        is_empty = bool(collected.sources) and not any(each.size for each in collected.sources)
        runs.missing.append((path, "standard input is empty" if is_empty else reason))
        return
    _add_empty_files(runs, collected)
    rest = [os.path.basename(each.path) for each in collected.sources if each.size]
    if len(rest) < len(collected.sources) and rest:
        reason = f"no other transcript of a known format: {', '.join(rest[:_MAX_NAMES])}"
    if rest or not collected.sources:  # the report shows the path already
        without_path = reason.removeprefix(f"{os.path.abspath(path)}: ").removeprefix(f"{path}: ")
        runs.missing.append((path, without_path))


def _add_empty_files(runs: Runs, collected: CollectedSources) -> None:
    runs.missing += ((each.path, _EMPTY) for each in collected.sources if not each.size)


def _count_left_out(counts: Sequence[tuple[int, str, str]]) -> str:
    return " and ".join(f"{option} left out {count:,} {plural(count, what)}" for count, what, option in counts if count)


def run_rule_tests(invocation: Invocation, directory: str, policy: Policy) -> RuleTests:
    """Compare the findings of the transcripts of a directory with those that are expected.

    Raises:
        Invalid: there is no test, or a file of expectations has a mistake.
    """
    cases: list[Case] = []
    all_expected: list[Expected] = []
    tests = find_rule_tests(directory)
    for test in tests:
        expected = parse_expected(read_text(test.path, "file of expectations"), test.path, policy)
        with open_runs(invocation, test.transcripts, [], ListFilter()) as runs:
            checked = check(
                runs.repository, runs.scopes, policy, missing=runs.missing, empty=tuple(runs.empty.values())
            )
        cases += compare_expected(test.name, expected, checked)
        all_expected += expected
    return RuleTests(
        tests=tuple(test.name for test in tests), cases=tuple(cases), uncovered=find_uncovered(policy, all_expected)
    )
