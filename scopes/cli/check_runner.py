"""The parts of `check` that belong to the command line: find policy and runs, and read paths into a temporary store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from scopes.check.baseline import read_baseline
from scopes.check.check import Checked, check
from scopes.check.findings import Finding
from scopes.check.policy import FAIL_ON, PRESETS, Policy, parse_policy, require_known_suppressions
from scopes.check.policy_sources import CommittedTree, PolicySource, WorkingTree, find_top
from scopes.check.rules.base import FILE_NAME
from scopes.check.rules.registry import RULES
from scopes.check.run import Run
from scopes.check.run_reader import read_empty_run
from scopes.cli.import_runner import collect_sources, import_into
from scopes.cli.invocation import Invocation
from scopes.conversation.list import list_conversations
from scopes.conversation.list_filter import ListFilter
from scopes.errors import CannotImport, Inaccessible, Invalid, NotFound
from scopes.history.conversations import Scope, resolve_scope
from scopes.history.revisions import conversation_ids
from scopes.importers.formats.base import Source
from scopes.importers.import_sources import ImportOptions
from scopes.regular_file import read_regular
from scopes.render.progress import progress
from scopes.result import Note
from scopes.store.committed_file import Commit
from scopes.store.overlay import empty_store
from scopes.store.projects import Project
from scopes.store.repository import Repository

_SUFFIXES = (".json", ".jsonl", ".log", ".zst")
_MAX_FILE = 64 << 20
_UNKNOWN_FORMAT = "unknown format"
_MAX_NAMES = 5
_EMPTY = "the file is empty"
# The branch or commit that a change is based on, in the variables of a CI system: GitHub, GitLab, Jenkins.
_BASES = (
    ("GITHUB_BASE_REF", "origin/{}"),
    ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "{}"),
    ("CHANGE_TARGET", "origin/{}"),
)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs to check: their store, names and scopes.

    missing: names and reasons of those that are not there or cannot be read
    empty: those of transcripts without a message, which are not in the store
    notes: files below a folder that were skipped because their format is not known
    """

    repository: Repository
    scopes: Sequence[tuple[str | None, Scope]]
    missing: Sequence[tuple[str, str]] = ()
    empty: Sequence[Run] = ()
    notes: Sequence[Note] = ()


class CheckOptions(NamedTuple):
    """Options of a check: path of the baseline, exit code of the agent, and whether unknown verdicts fail."""

    baseline: str | None = None
    agent_exit: int | None = None
    unknown_fails: bool = False


def read_policy(
    invocation: Invocation, path: str | None, revision: str | None, fail_on: str | None, preset: str | None
) -> Policy:
    """Read the policy and apply the options that override it.

    It is the file that was named, or `scopes-check.toml` here or at the top of the repository. With `revision` it is
    read from that commit, and in a CI job for a change from the commit that the change is based on: the agent cannot
    have written that.

    Raises:
        Invalid: it cannot be read or has a mistake, an option has an unknown value, or the commit of the base is not in
            this clone.
        NotFound, Inaccessible: the revision cannot be read.
    """
    for option, value, choices in (("--fail-on", fail_on, FAIL_ON), ("--preset", preset, PRESETS)):
        if value is not None and value not in choices:
            raise Invalid(f"{option} {value!a} is not possible: use one of {', '.join(choices)}")
    notes: tuple[Note, ...] = ()
    commit: Commit | None = None
    if path is None and revision is None and _is_job_for_change(invocation):
        commit = _find_base(invocation)
        notes = _notes_on_changed_policy(invocation, commit)
    elif revision is not None:
        commit = Commit(invocation.cwd, revision)
    text, name, source = _read_policy_text(invocation, path, commit)
    known = {rule.id: rule.parameters for rule in RULES.values()}
    policy = Policy() if text is None else parse_policy(text, name, known, source)
    require_known_suppressions(policy, known)
    policy = replace(policy, notes=notes)
    policy = policy if fail_on is None else replace(policy, fail_on=fail_on)
    return policy if preset is None else replace(policy, preset=preset)


def split_targets(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the targets that are paths, and those that name stored conversations.

    Raises:
        Invalid: there are both.
    """
    paths = [target for target in targets if _is_path(target)]
    names = [target for target in targets if not _is_path(target)]
    if paths and names:
        missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
        if missing:
            raise Invalid(f"there is no file {', '.join(missing)}", hint="name existing files")
        raise Invalid("paths and stored conversations cannot be checked together", hint="use two commands")
    return paths, names


def check_runs(
    invocation: Invocation, targets: Sequence[str], wanted: ListFilter, policy: Policy, options: CheckOptions
) -> Checked:
    """Check the runs of paths, or of stored conversations.

    Raises:
        Invalid: the targets are paths and conversations.
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    paths, names = split_targets(targets)
    if names and (wanted.since is not None or wanted.projects):
        raise Invalid(
            "--since and --project narrow folders and the stored conversations; these are named",
            hint="leave out the names, or the options",
        )
    known = _read_known(invocation, options.baseline, policy)
    with open_runs(invocation, paths, names, wanted) as runs, _progress(invocation, runs) as on_progress:
        checked = check(
            runs.repository,
            runs.scopes,
            policy,
            missing=runs.missing,
            empty=runs.empty,
            baseline=known,
            agent_exit=options.agent_exit,
            unknown_fails=options.unknown_fails,
            on_progress=on_progress,
        )
        checked = replace(checked, notes=(*checked.notes, *runs.notes))
    return with_relative_paths(checked, invocation.cwd)


def with_relative_paths(checked: Checked, directory: str) -> Checked:
    """Return the verdicts with paths of transcripts below a directory relative to it; others stay absolute."""
    prefix = directory.rstrip("/") + "/"

    def shorten(finding: Finding) -> Finding:
        events = (each._replace(path=each.path and each.path.removeprefix(prefix)) for each in finding.events)
        return finding._replace(events=tuple(events))

    runs = tuple(
        replace(
            run,
            name=run.name.removeprefix(prefix),
            sources=tuple(each._replace(path=each.path.removeprefix(prefix)) for each in run.sources),
            verdicts=tuple(each._replace(findings=tuple(map(shorten, each.findings))) for each in run.verdicts),
        )
        for run in checked.runs
    )
    return replace(checked, runs=runs)


def _progress(invocation: Invocation, runs: Runs) -> AbstractContextManager[Callable[[int], None]]:
    return progress(invocation.output(), "checking", len(runs.scopes))


@contextmanager
def open_runs(invocation: Invocation, paths: Sequence[str], names: Sequence[str], wanted: ListFilter) -> Iterator[Runs]:
    """Open the runs of paths in a temporary store, or those of stored conversations; without either all stored ones.

    `wanted` narrows the transcripts below the paths, or the stored conversations if none is named.

    Raises:
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    if not paths:
        repository = invocation.repository()
        chosen = names or sorted(
            row.id
            for row in list_conversations(
                repository, invocation.index_directory, complete=True, wanted=wanted
            ).conversations
        )
        scopes = [(name, resolve_scope(repository, name)) for name in chosen]
        yield Runs(
            repository,
            [(name if name.startswith(scope.conversation) else scope.conversation, scope) for name, scope in scopes],
        )
        return
    with empty_store() as repository:
        missing: list[tuple[str, str]] = []
        unknown: dict[str, None] = {}
        empty: dict[str, Run] = {}  # by path: a file can be named and lie below a directory that is named
        projects = [project for project in wanted.projects if isinstance(project, Project)]
        options = ImportOptions(since=wanted.since, projects=projects or None)
        for path in paths:
            try:
                collected = collect_sources(invocation, [path])
                imported = import_into(invocation, repository, collected, options)
            except (CannotImport, Inaccessible, NotFound) as error:
                missing.append((path, _EMPTY if _is_empty(path) else _without_path(error.message, path)))
                continue
            missing += ((each.path, _EMPTY) for each in collected.sources if not each.size)
            listed = {name for name, _ in missing}
            failed = (each for each in imported.skipped if each.error is not None and each.path not in listed)
            missing += ((each.path, each.reason) for each in failed)
            unknown.update((each.path, None) for each in imported.skipped if each.reason == _UNKNOWN_FORMAT)
            skipped = {each.path for each in imported.skipped if each.error is None}
            is_narrowed = wanted.since is not None or projects
            without_message = [each for each in collected.sources if each.path in skipped]
            for run in _read_empty(without_message, only_named=bool(is_narrowed)):
                empty.setdefault(run.name, run)
        ids = conversation_ids(repository)
        found = [(None, resolve_scope(repository, name)) for name in ids]
        yield Runs(repository, found, missing, tuple(empty.values()), tuple(_notes_on_unknown(list(unknown))))


def _read_empty(sources: Sequence[Source], *, only_named: bool) -> Iterator[Run]:
    """Yield the runs of transcripts without a message; with `only_named` only those that the user gave by name."""
    for source in sources:
        with suppress(CannotImport, OSError):  # of no known format
            run = read_empty_run(source) if source.named or not only_named else None
            if run is not None:
                yield run


def _notes_on_unknown(paths: Sequence[str]) -> Iterator[Note]:
    """Yield a note that names the files whose format is not known: a run in them was not judged."""
    if paths:
        names = ", ".join(map(os.path.basename, paths[:_MAX_NAMES]))
        more = f" and {len(paths) - _MAX_NAMES} more" if len(paths) > _MAX_NAMES else ""
        yield Note(f"not judged, the format is not known: {names}{more}", "name such a file itself if it must be a run")


def _is_empty(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) == 0
    except (OSError, ValueError):
        return False


def _without_path(message: str, path: str) -> str:
    """Return an error without the path that it begins with, which the report shows already."""
    return message.removeprefix(f"{os.path.abspath(path)}: ").removeprefix(f"{path}: ")


def _read_known(invocation: Invocation, baseline: str | None, policy: Policy) -> frozenset[str]:
    """Return the fingerprints of the baseline, a report or a stored conversation, which is checked for them.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: the file cannot be read, or is no report.
    """
    if baseline is None:
        return frozenset()
    if _is_path(baseline) or invocation.find_repository() is None:
        return read_baseline(_read_file(baseline, "baseline"), baseline)
    repository = invocation.repository()
    checked = check(repository, [(baseline, resolve_scope(repository, baseline))], policy)
    return frozenset(finding.fingerprint for run in checked.runs for finding in run.findings)


def _read_policy_text(
    invocation: Invocation, path: str | None, commit: Commit | None
) -> tuple[str | None, str, PolicySource | None]:
    """Return the text of the policy, its name, and where files that it extends are; no text if there is none."""
    if commit is None:
        found = path or _find_policy(invocation.cwd)
        return (None, FILE_NAME, None) if found is None else (read_text(found, "policy"), found, WorkingTree(found))
    revision, name = commit.revision, path or _find_committed_policy(invocation.cwd, commit)
    source = CommittedTree(name, revision, commit.read)
    data = commit.read(source.path)
    if data is None and path is not None:
        raise Invalid(f"there is no {name} in {revision}", hint="commit the policy there, or leave out --rules-from")
    return None if data is None else _decoded(data, name), f"{revision[:12]}:{name}", source


def _is_job_for_change(invocation: Invocation) -> bool:
    return any(invocation.environ.get(variable) for variable, _ in _BASES)


def _find_base(invocation: Invocation) -> Commit:
    """Return the merge base of the change that a CI job checks; raise Invalid if it is not in this clone."""
    variable, form = next(base for base in _BASES if invocation.environ.get(base[0]))
    base = None
    with suppress(NotFound, Inaccessible):
        base = Commit(invocation.cwd, form.format(invocation.environ[variable])).find_merge_base()
    if base is None:  # the policy of the working tree may be the agent's
        raise Invalid(
            f"the commit that the change is based on is not in this clone ({variable})",
            hint="clone with the whole history (fetch-depth: 0, GIT_DEPTH: 0), or name a policy: --rules, --rules-from",
        )
    return base


def _find_policy(directory: str) -> str | None:
    """Return the policy of a directory or of the nearest one around it in its repository; None if there is none."""
    folder = directory
    while not os.path.lexists(os.path.join(folder, FILE_NAME)):
        parent = os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            return None
        folder = parent
    return os.path.relpath(os.path.join(folder, FILE_NAME), directory)


def _find_committed_policy(directory: str, commit: Commit) -> str:
    """Return the policy of a commit by the rule of the working tree: that of a directory, or the nearest around it."""
    folder = os.path.relpath(os.path.realpath(directory), os.path.realpath(find_top(directory)))
    while folder not in {"", "."}:
        if commit.read(f"{folder}/{FILE_NAME}") is not None:
            return f"{folder}/{FILE_NAME}"
        folder = os.path.dirname(folder)
    return FILE_NAME


def _notes_on_changed_policy(invocation: Invocation, base: Commit) -> tuple[Note, ...]:
    """Return a note if the policy here is another than that of the base, which applies."""
    here = _find_policy(invocation.cwd)
    data = None if here is None else _read_file(here, "policy")
    if data == base.read(_find_committed_policy(invocation.cwd, base)):
        return ()
    return (Note(f"the policy is that of {base.revision[:12]}, the base of this change: {FILE_NAME} here is another"),)


def _read_file(path: str, what: str) -> bytes:
    try:
        return read_regular(path, _MAX_FILE)
    except FileNotFoundError as error:
        raise Invalid(f"there is no {what} {path}", hint="give the path of an existing file") from error
    except OSError as error:
        raise Invalid(f"cannot read the {what} {path}: {error.strerror}") from error


def read_text(path: str, what: str) -> str:
    """Return the text of a file that a person wrote; it never waits for a pipe.

    Raises:
        Invalid: it cannot be read, or is not UTF-8.
    """
    return _decoded(_read_file(path, what), path)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} is not valid UTF-8") from error


def _is_path(target: str) -> bool:
    return target == "-" or os.path.exists(target) or target.endswith(_SUFFIXES) or target.startswith(("/", "./", "~"))
