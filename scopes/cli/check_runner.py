"""The parts of `check` that belong to the command line: tell paths from conversations, and read both as runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from scopes.check.policy import FAIL_ON, FILE_NAME, Policy, parse_policy
from scopes.check.rules.registry import RULES
from scopes.cli.import_runner import collect_sources, import_into
from scopes.cli.invocation import Invocation
from scopes.errors import CannotImport, Inaccessible, Invalid, NotFound
from scopes.history.conversations import Scope, resolve_scope
from scopes.history.revisions import conversation_ids
from scopes.importers.import_sources import ImportOptions
from scopes.store.overlay import empty_store
from scopes.store.repository import Repository

_SUFFIXES = (".json", ".jsonl", ".log", ".zst")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs to check: their store, names and scopes; `missing` are names and reasons of those that are not there."""

    repository: Repository
    scopes: list[tuple[str, Scope]]
    missing: list[tuple[str, str]]


def read_policy(path: str | None, fail_on: str | None) -> Policy:
    """Read the policy that was named, else that of the current directory, else return the defaults.

    Raises:
        Invalid: it has a mistake, or the level is unknown.
        NotFound, Inaccessible: it cannot be read.
    """
    chosen = path or (FILE_NAME if os.path.isfile(FILE_NAME) else None)
    policy = Policy()
    if chosen is not None:
        try:
            with open(chosen, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError as error:
            raise NotFound(f"there is no policy {chosen}", hint="give an existing file with --rules") from error
        except (OSError, UnicodeError) as error:
            raise Inaccessible(f"cannot read {chosen}: {error}") from error
        policy = parse_policy(text, chosen, {rule.id: rule.parameters for rule in RULES.values()})
    if fail_on is not None and fail_on not in FAIL_ON:
        raise Invalid(f"--fail-on {fail_on!a} is not possible: use one of {', '.join(FAIL_ON)}")
    return policy if fail_on is None else replace(policy, fail_on=fail_on)


def split_targets(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the targets that are paths, and those that name stored conversations.

    Raises:
        Invalid: there are both.
    """
    paths = [target for target in targets if _is_path(target)]
    names = [target for target in targets if not _is_path(target)]
    if paths and names:
        raise Invalid("paths and stored conversations cannot be checked together", hint="use two commands")
    return paths, names


@contextmanager
def open_runs(invocation: Invocation, paths: Sequence[str], names: Sequence[str]) -> Iterator[Runs]:
    """Open the runs of paths in a temporary store, or those of stored conversations; without either all stored ones.

    Raises:
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    if not paths:
        repository = invocation.repository()
        chosen = names or [str(conversation) for conversation in conversation_ids(repository)]
        yield Runs(repository, [(name, resolve_scope(repository, name)) for name in chosen], [])
        return
    with empty_store() as repository:
        missing = []
        for path in paths:
            try:
                collected = collect_sources(invocation, [path])
                import_into(invocation, repository, collected, ImportOptions())
            except (CannotImport, Inaccessible, NotFound) as error:
                missing.append((path, error.message))
        stored = [(str(each), resolve_scope(repository, each)) for each in conversation_ids(repository)]
        yield Runs(repository, stored, missing)


def _is_path(target: str) -> bool:
    return target == "-" or os.path.exists(target) or target.endswith(_SUFFIXES) or target.startswith(("/", "./", "~"))
