"""The policy and the baseline of `scopes check`: of the working tree, of a commit, or of the base of a change."""

from __future__ import annotations

import os
from dataclasses import replace

from scopes.check.baseline import read_baseline
from scopes.check.check import check
from scopes.check.committed_files import CommittedFiles
from scopes.check.policy import Policy, parse_policy, require_known_suppressions
from scopes.check.policy_sources import CommittedTree, PolicySource, WorkingTree, find_top
from scopes.check.rules.base import FILE_NAME
from scopes.check.rules.registry import PARAMETERS
from scopes.check.workspace import find_checkout
from scopes.cli.check_hook import check_choices
from scopes.cli.invocation import Invocation
from scopes.errors import Inaccessible, Invalid, NotFound
from scopes.history.handles import resolve_scope
from scopes.regular_file import read_regular
from scopes.result import Note

_MAX_FILE = 64 << 20
_SUFFIXES = (".json", ".jsonl", ".log", ".zst")
# The branch or commit that a change is based on, in the variables of a CI system: GitHub, GitLab, Jenkins.
_BASES = (
    ("GITHUB_BASE_REF", "origin/{}"),
    ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "{}"),
    ("CHANGE_TARGET", "origin/{}"),
)


def read_policy(
    invocation: Invocation,
    path: str | None,
    revision: str | None,
    fail_on: str | None,
    preset: str | None,
    *,
    only_shown: bool = False,
) -> Policy:
    """Read the policy and apply the options that override it.

    It is the file that was named, or `scopes-check.toml` here or at the top of the repository. With `revision` it is
    read from that commit, and in a CI job for a change from the commit that the change is based on: the agent cannot
    have written that. With `only_shown` nothing is judged by it: without that commit it is the one here.

    Raises:
        Invalid: it cannot be read or has a mistake, an option has an unknown value, or the commit of the base is not in
            this clone.
        NotFound, Inaccessible: the revision cannot be read.
    """
    check_choices(preset, fail_on)
    notes: tuple[Note, ...] = ()
    commit: CommittedFiles | None = None
    if path is None and revision is None and _is_job_for_change(invocation):
        try:
            commit = _find_base(invocation)
            notes = _notes_on_changed_policy(invocation, commit)
        except Invalid as error:
            if not only_shown:
                raise
            notes = (Note(f"this is the policy here: {error.message}", error.hint),)
    elif revision is not None:
        commit = CommittedFiles(invocation.cwd, revision)
    text, name, source = _read_policy_text(invocation, path, commit)
    policy = Policy() if text is None else parse_policy(text, name, PARAMETERS, source)
    require_known_suppressions(policy, PARAMETERS)
    policy = replace(policy, notes=notes)
    policy = policy if fail_on is None else replace(policy, fail_on=fail_on)
    return policy if preset is None else replace(policy, preset=preset)


def read_baseline_of(
    invocation: Invocation, baseline: str | None, policy: Policy
) -> tuple[frozenset[str], tuple[Note, ...]]:
    """Return the fingerprints of the baseline, a report or a stored conversation, which is checked for them.

    In a CI job for a change a report inside the repository is read from the commit that the change is based on: the
    agent can have written the one in the working tree. A note says so if the two are not equal.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: the file cannot be read, or is not a report.
    """
    if baseline is None:
        return frozenset(), ()
    if not baseline:
        raise Invalid("--baseline is empty", hint="give the path of a report, or a stored conversation")
    if is_path(baseline) or baseline.endswith(".sarif") or invocation.find_repository() is None:
        place = _place_in_project(invocation, baseline) if _is_job_for_change(invocation) else None
        if place is None:
            return read_baseline(_read_file(baseline, "file"), baseline), ()
        return _read_known_of_base(_find_base(invocation), baseline, place)
    repository = invocation.repository()
    scopes = [(baseline, resolve_scope(repository, baseline))]
    checked = check(repository, scopes, policy, checkout=find_checkout(invocation.environ))
    return frozenset(finding.fingerprint for run in checked.runs for finding in run.findings), ()


def _read_known_of_base(base: CommittedFiles, path: str, place: str) -> tuple[frozenset[str], tuple[Note, ...]]:
    """Return the fingerprints of a baseline as the base of a change has it, and a note if the file here is another."""
    revision = base.revision[:12]
    data = base.read(place, _MAX_FILE)
    if data is None:
        _read_file(path, "file")
        hint = "it counts once it is merged; a baseline outside of the repository is read as it is"
        return frozenset(), (
            Note(f"{path} accepts nothing: {revision}, the base of this change, does not have it", hint),
        )
    known = read_baseline(data, f"{revision}:{place}")
    is_same = os.path.lexists(path) and _read_file(path, "file") == data
    note = Note(f"the baseline is that of {revision}, the base of this change: {path} here is another")
    return known, () if is_same else (note,)


def _place_in_project(invocation: Invocation, path: str) -> str | None:
    """Return the path of a file from the top of the repository around the working directory; None if it is outside."""
    top = os.path.realpath(find_top(invocation.cwd))
    absolute = os.path.join(invocation.cwd, path)
    named = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
    for each in (named, os.path.realpath(absolute)):
        if each.startswith(top.rstrip("/") + "/"):
            return os.path.relpath(each, top)
    return None


def _read_policy_text(
    invocation: Invocation, path: str | None, commit: CommittedFiles | None
) -> tuple[str | None, str, PolicySource | None]:
    """Return the text of the policy, its name, and where files that it extends are; no text if there is none."""
    if commit is None:
        found = path or _find_policy(invocation.cwd)
        return (None, FILE_NAME, None) if found is None else (read_text(found, "policy"), found, WorkingTree(found))
    revision, name = commit.revision, path or _find_committed_policy(invocation.cwd, commit)
    source = CommittedTree(name, revision, commit.read)
    data = commit.read(source.path)
    if data is None and path is not None:
        raise Invalid(
            f"there is no {name} in {revision}",
            hint="commit it there, or name another: --rules REV:FILE",
        )
    return None if data is None else _decoded(data, name), f"{revision[:12]}:{name}", source


def _is_job_for_change(invocation: Invocation) -> bool:
    return any(invocation.environ.get(variable) for variable, _ in _BASES)


def _find_base(invocation: Invocation) -> CommittedFiles:
    """Return the merge base of the change that a CI job checks; raise Invalid if it is not in this clone."""
    variable, form = next(base for base in _BASES if invocation.environ.get(base[0]))
    revision = form.format(invocation.environ[variable])
    hint = "clone with the whole history (fetch-depth: 0, GIT_DEPTH: 0), or name a policy: --rules [REV:]FILE"
    try:
        base = CommittedFiles(invocation.cwd, revision).find_merge_base()
    except (NotFound, Inaccessible) as error:  # the policy of the working tree may be the agent's
        raise Invalid(
            f"{revision}, on which the change is based ({variable}), is not in this clone", hint=hint
        ) from error
    if base is None:
        raise Invalid(f"the commit at which the change left {revision} ({variable}) is not in this clone", hint=hint)
    return base


def _find_policy(directory: str) -> str | None:
    """Return the policy of a directory or of the nearest one around it in its repository; None if there is none."""
    folder, top = directory, find_top(directory)
    while not os.path.lexists(os.path.join(folder, FILE_NAME)):
        if folder == top:
            return None
        folder = os.path.dirname(folder)
    return os.path.relpath(os.path.join(folder, FILE_NAME), directory)


def _find_committed_policy(directory: str, commit: CommittedFiles) -> str:
    """Return the policy of a commit by the rule of the working tree: that of a directory, or the nearest around it."""
    folder = os.path.relpath(os.path.realpath(directory), os.path.realpath(find_top(directory)))
    while folder not in {"", "."}:
        if commit.read(f"{folder}/{FILE_NAME}") is not None:
            return f"{folder}/{FILE_NAME}"
        folder = os.path.dirname(folder)
    return FILE_NAME


def _notes_on_changed_policy(invocation: Invocation, base: CommittedFiles) -> tuple[Note, ...]:
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


def is_path(target: str) -> bool:
    """Return True if a target is a path, and no name of a stored conversation."""
    return target == "-" or os.path.exists(target) or target.endswith(_SUFFIXES) or target.startswith(("/", "./", "~"))
