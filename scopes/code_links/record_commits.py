"""Record which session made a commit: from the files that hooks of git left, and at the end of a recorded turn.

Each is recorded once, however often that is tried: a record that is stored is not stored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from scopes.clock import format_time, now_nanoseconds, parse_time
from scopes.code_links.commit_facts import CommitFacts, read_commit_facts
from scopes.code_links.commit_record import MAX_TEXT, CommitRecord, is_amended, is_commit_id, makes_commit
from scopes.code_links.commit_store import CommitRecords, record_changes, rewrite_changes, store_records, summary_of
from scopes.code_links.link import CommitId
from scopes.code_links.pending_commits import PendingCommit, list_pending, remove_pending
from scopes.code_links.project_git import ProjectRepository, open_project_git
from scopes.code_links.reflog import read_tail
from scopes.errors import Inaccessible
from scopes.history.sessions import HOOKS
from scopes.ids import MessageId, OperationId
from scopes.store.objects import BlobChange
from scopes.store.projects import Worktree, find_worktree
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_SECOND = 1_000_000_000
_GIT_SECONDS = 30.0  # the next turn of the session waits for that
_TOLERANCE = 2  # seconds between the time of a commit and the beginning of its turn


def record_pending(repository: Repository, worktree: Worktree) -> OperationId | None:
    """Record what the hooks of a project have written; None if there is nothing new.

    Raises:
        Busy, Inaccessible: nothing was recorded; it stays for the next time.
    """
    pending = list_pending(worktree)
    if not pending:
        return None
    records = list(pending_records(worktree, pending))
    pairs = [pair for each in pending for pair in each.rewritten]
    operation = _store(repository, records, pairs)
    remove_pending(worktree, pending, now_nanoseconds())
    return operation


def pending_records(worktree: Worktree, pending: Sequence[PendingCommit]) -> Iterator[CommitRecord]:
    """Yield the records of what hooks have left."""
    tail = read_tail(worktree)
    actions: dict[str, str] = {}  # what made each commit, not what moved HEAD to it later
    for move in () if tail is None else tail.moves:
        if makes_commit(move.action):
            actions.setdefault(move.new, move.action)
    facts = find_commit_facts(worktree, [each.commit for each in pending if each.commit is not None])
    for each in pending:
        for agent in each.sessions if each.commit is not None else ():
            record = CommitRecord(
                commit=CommitId(each.commit or ""),
                recorded_by="hook",
                at=format_time(each.at),
                tool=agent.tool,
                session=agent.session,
                call_id=agent.call_id,
                root=worktree.directory,
                is_shared=len(each.sessions) > 1,
                action=actions.get(each.commit or "", "")[:MAX_TEXT],
            )
            yield _with_facts(record, facts.get(record.commit))


def record_turn(
    repository: Repository, conversation: str, message: MessageId, git: Mapping[str, Any]
) -> OperationId | None:
    """Record the commits of a turn that was recorded live; None if there is none, or nothing is new.

    conversation: the uuid of the conversation
    message: the last message of the turn
    git: what `reflog.describe_turn` returned

    Raises:
        Busy, Inaccessible: nothing was recorded.
    """
    root = str(git.get("root") or "")
    moves = list(_commit_moves(git))
    worktree = find_worktree(root) if moves else None
    if worktree is None:
        return None
    facts = find_commit_facts(worktree, [CommitId(move["new"]) for move in moves])
    began = min(move["at"] for move in moves)
    records = []
    for move in moves:
        record = CommitRecord(
            commit=CommitId(move["new"]),
            recorded_by="turn",
            at=move["at"],
            conversation=conversation,
            message=message,
            action=move["action"][:MAX_TEXT],
            root=root,
        )
        known = facts.get(record.commit)
        if record.is_new_commit or _is_authored_since(known, began):
            records.append(_with_facts(record, known))
    amended = [(CommitId(move["old"]), CommitId(move["new"])) for move in moves if is_amended(move["action"])]
    return _store(repository, records, amended)


def has_commits(git: object) -> bool:
    """Return True if commits were made in a turn, by what `reflog.describe_turn` returned."""
    return isinstance(git, Mapping) and any(_commit_moves(git))


def _commit_moves(git: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for move in git.get("moves") or ():
        match move:
            case {"old": str(old), "new": str(new), "action": str(action), "at": str(at)}:
                if makes_commit(action) and is_commit_id(old) and is_commit_id(new):
                    yield {"old": old, "new": new, "action": action, "at": at}


def find_commit_facts(worktree: Worktree, commits: Iterable[CommitId]) -> dict[CommitId, CommitFacts]:
    """Return what commits of a project say about themselves; nothing if git cannot read the project."""
    project = ProjectRepository(worktree.directory, worktree.git_directory, worktree.shared)
    with suppress(Inaccessible), open_project_git(project) as git:
        return read_commit_facts(git, commits, seconds=_GIT_SECONDS)
    return {}


def _store(
    repository: Repository, found: Sequence[CommitRecord], pairs: Sequence[tuple[CommitId, CommitId]]
) -> OperationId | None:
    if not found and not pairs:
        return None
    with exclusive_write(repository), repository.as_caller(actor=HOOKS):
        records = CommitRecords(repository)
        changes: dict[str, BlobChange] = {}
        for record in found:
            changes |= {} if records.holds(record) else record_changes(record)
        known = {record.commit for record in found}
        for old, new in dict.fromkeys(pairs):  # in the order in which git rewrote the commits
            if old in known or records.find(old) or records.list_earlier(old):
                known.add(new)
                changes |= rewrite_changes(old, new)
        return store_records(repository, records, changes, summary_of(known)) if changes else None


def _with_facts(record: CommitRecord, facts: CommitFacts | None) -> CommitRecord:
    return record if facts is None else replace(record, subject=facts.subject, identity=facts.identity)


def _is_authored_since(facts: CommitFacts | None, began: str) -> bool:
    authored = None if facts is None or facts.authored is None else parse_time(facts.authored)
    begin = parse_time(began)
    return authored is not None and begin is not None and authored // _SECOND >= begin // _SECOND - _TOLERANCE
