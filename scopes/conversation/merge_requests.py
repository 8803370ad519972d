"""`merge-requests`: open, list, show, merge and close requests to merge a branch into another one (S4-21).

A request is data in the metadata of its conversation. It is merged when the target has its source, however that came
about: the operation of a merge records it, and what other commands or machines merged is found when it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote

from scopes.clock import new_id, now
from scopes.conversation.merge import (
    FastForwarded,
    MergeConflicted,
    Merged,
    MergeOptions,
    MergeOutcome,
    UpToDate,
    merge,
)
from scopes.errors import Ambiguous, Invalid, NotFound, Refused, ScopesError
from scopes.history.handles import ConversationHandle, StoreHandle
from scopes.history.messages import check_author
from scopes.history.names import HEADS_FORM, resolve_conversation
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.files import FileComparison
from scopes.merge.in_progress import is_known_ancestor, list_in_progress, state_now
from scopes.model.conflicts import Conflict
from scopes.model.conversation import CLOSED, OPEN, REQUEST_STATES, MergeRequest
from scopes.model.conversation import MERGED_REQUEST as MERGED
from scopes.model.message import Author
from scopes.result import Note, Result
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

MAX_TITLE = 200
_MIN_PREFIX = 4
_OUTCOMES: dict[type[Result], str] = {
    UpToDate: "up-to-date", FastForwarded: "fast-forward", Merged: "merged", MergeConflicted: "conflict",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestRow:
    """A merge request with its state now."""

    conversation: ConversationId
    request: MergeRequest
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestList(Result):
    """Merge requests, newest first."""

    rows: tuple[MergeRequestRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestChanged(Result):
    """A merge request that was opened or closed; `change` is `opened` or `closed`."""

    row: MergeRequestRow
    change: str
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestView(Result):
    """A merge request, and what its merge would do now.

    Attributes:
        outcome: `up-to-date`, `fast-forward`, `merged` or `conflict`; None if it is not open or `problem` prevents it.
        messages: How many messages would be new in the target.
        conflicts: The conflicts that the merge would have.
        files: What both sides did to the files that both changed.
        gone: The branches of the request that do not exist any more.
        moved: How many commits the source got since the request was opened; None if it was rewound or rewritten.
        in_progress: The conflict-resolution branch, if the merge has stopped on conflicts.
        problem: Why it cannot be merged.
    """

    row: MergeRequestRow
    outcome: str | None = None
    messages: int | None = None
    conflicts: tuple[Conflict, ...] = ()
    files: tuple[FileComparison, ...] = ()
    gone: tuple[BranchName, ...] = ()
    moved: int | None = None
    in_progress: BranchName | None = None
    problem: str | None = None


def open_merge_request(
    repository: Repository,
    conversation: str,
    source: str,
    *,
    title: str,
    target: str = "main",
    message: str = "",
    requester: Author,
) -> MergeRequestChanged:
    """Open a request to merge the branch `source` into `target`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
        Invalid: the branches are the same, or the title is empty or too long.
        Refused: there is nothing to merge, or such a request is open.
    """
    handle, title = StoreHandle(repository).conversation(conversation), _check_title(title)
    author = check_author(requester)
    with exclusive_write(repository):
        names = handle.branch(source).name, handle.branch(target).name
        tips = handle.tips
        if names[0] == names[1]:
            raise Invalid(f"{names[0]} cannot be merged into itself", hint="name another branch: --target BRANCH")
        requests = handle.metadata.requests.values()
        for other in requests:
            if (other.source, other.target) == names and state_now(repository, other, tips) == OPEN:
                hint = f"see: scopes merge-requests show {quote(handle.id)} {other.number}"
                raise Refused(f"merge request {other.number} for {names[0]} into {names[1]} is open", hint=hint)
        if is_ancestor(repository, tips[names[0]], tips[names[1]]):
            raise Refused(f"{names[1]} already has all messages of {names[0]}", hint="there is nothing to merge")
        request = MergeRequest(
            id=new_id(),
            number=max((other.number for other in requests), default=0) + 1,
            source=names[0],
            target=names[1],
            title=title,
            message=message.strip(),
            requester=author.name,
            requester_kind=author.kind,
            source_tip=tips[names[0]],
            opened=now(),
        )
        return _store(handle, request, "opened")


def list_merge_requests(
    repository: Repository, conversation: str | None = None, *, state: str | None = None
) -> MergeRequestList:
    """List the merge requests of a conversation, or of all: the open ones, or those in `state`, which may be `all`.

    Raises:
        Invalid: there is no such state.
    """
    wanted = state or OPEN
    if wanted not in {*REQUEST_STATES, "all"}:
        raise Invalid(f"{wanted!a} is not a state of a merge request", hint=f"states: {', '.join(REQUEST_STATES)}, all")
    store = StoreHandle(repository)
    handles = list(store.conversations()) if conversation is None else [store.conversation(conversation)]
    rows = [row for handle in handles for row in _rows(handle) if wanted in {row.state, "all"}]
    rows.sort(key=lambda row: (row.request.opened, row.conversation, row.request.number), reverse=True)
    damaged = [handle.id for handle in handles if handle.metadata.damaged]
    text = "a damaged merge request of {} is left out"
    notes = tuple(Note(text.format(conversation), "see: scopes verify") for conversation in damaged)
    return MergeRequestList(rows=tuple(rows), notes=notes)


def show_merge_request(repository: Repository, conversation: str, name: str) -> MergeRequestView:
    """Show a merge request, and what its merge would do now; nothing is written.

    Raises:
        NotFound, Ambiguous: there is no such request, or several.
    """
    handle = StoreHandle(repository).conversation(conversation)
    row = _find(handle, name)
    request, tips = row.request, handle.tips
    names = request.source, request.target
    view = MergeRequestView(
        row=row, gone=tuple(name for name in names if name not in tips), moved=_count_moved(repository, request, tips)
    )
    if row.state != OPEN:
        return view
    if view.gone:
        return replace(view, problem=_describe_missing(view.gone))
    stopped = _find_stopped(repository, handle.id, request)
    try:
        options = MergeOptions(record_copies=True)
        outcome = merge(
            repository, handle.id, HEADS_FORM + request.source, target=request.target, options=options, dry_run=True
        )
    except ScopesError as error:
        return replace(view, problem=error.message, in_progress=stopped)
    return replace(
        view,
        outcome=_OUTCOMES[type(outcome)],
        messages=len(outcome.messages),
        conflicts=outcome.conflicts,
        files=outcome.files,
        in_progress=stopped,
    )


def merge_request(
    repository: Repository, conversation: str, name: str, *, options: MergeOptions | None = None
) -> MergeOutcome:
    """Merge the source of a request into its target; raises as `merge` does.

    Raises:
        NotFound, Ambiguous: there is no such request, or several; or one of its branches does not exist.
        Refused: the request is closed or merged.
    """
    handle = StoreHandle(repository).conversation(conversation)
    request = _read_mergeable(handle, name)

    def check() -> None:  # somebody else may have closed or merged it meanwhile
        _read_mergeable(handle, request.id)

    options = replace(options or MergeOptions(), record_copies=True)
    return merge(
        repository, handle.id, HEADS_FORM + request.source, target=request.target, options=options, check=check
    )


def close_merge_request(
    repository: Repository, conversation: str, name: str, *, reason: str = "", author: Author
) -> MergeRequestChanged:
    """Close a merge request without merging it.

    Raises:
        NotFound, Ambiguous: there is no such request, or several.
        Refused: it is not open.
    """
    handle, closer = StoreHandle(repository).conversation(conversation), check_author(author)
    with exclusive_write(repository):
        row = _find(handle, name)
        request = row.request
        if row.state != OPEN:
            hint = _reopen_hint(handle, request, row.state)
            raise Refused(f"merge request {request.number} is already {row.state}", hint=hint)
        why = reason.strip() or None
        done = _store(handle, replace(request, state=CLOSED, ended=now(), ended_by=closer.name, reason=why), "closed")
        stopped = _find_stopped(repository, handle.id, request)
        if stopped is None:
            return done
        text = f"the merge of {request.source} into {request.target} is still in progress on {stopped}"
        abort = f"scopes merge {quote(handle.id)} --abort --branch {quote(stopped)}"
        return replace(done, notes=(*done.notes, Note(text, f"abort it: {abort}")))


def _find_stopped(repository: Repository, conversation: ConversationId, request: MergeRequest) -> BranchName | None:
    """Return the conflict-resolution branch on which the merge of a request has stopped; None if it has not."""
    names = request.source, request.target
    stopped = (
        each.branch for each in list_in_progress(repository, conversation) if (each.source, each.target) == names
    )
    return next(stopped, None)


def _describe_missing(names: Sequence[BranchName]) -> str:
    return f"branch {names[0]} does not exist" if len(names) == 1 else f"branches {', '.join(names)} do not exist"


def _read_mergeable(handle: ConversationHandle, name: str) -> MergeRequest:
    """Return a request that is open and whose branches exist; raises as `merge_request` does."""
    row = _find(handle, name)
    request, tips = row.request, handle.tips
    if row.state != OPEN:
        raise Refused(f"merge request {request.number} is {row.state}", hint=_reopen_hint(handle, request, row.state))
    for branch in (request.source, request.target):
        if branch not in tips:
            hint = f"close the request: scopes merge-requests close {quote(handle.id)} {request.number}"
            raise NotFound(f"branch {branch} of merge request {request.number} does not exist", hint=hint)
    return request


def find_merge_request_anywhere(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a request that is named alone: by its number the latest one, else the one with the id.

    Raises:
        NotFound, Ambiguous: there is none, or several.
    """
    name = name.removeprefix("#")
    if name.isdecimal():
        latest = StoreHandle(repository).conversation("@")
        _find(latest, name)
        return latest.id
    found = [handle.id for handle in StoreHandle(repository).conversations() if _matching(handle, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Ambiguous(f"{name!a} matches merge requests of {len(found)} conversations", hint="name the conversation")
    if name == resolve_conversation(repository, name):
        raise Invalid(f"{name} is a conversation", hint=f"name its merge request too: {name} 1")
    raise NotFound(f"there is no merge request {name!a}", hint="list them: scopes merge-requests list")


def _check_title(title: str) -> str:
    line = " ".join(title.encode("utf-8", "replace").decode().split())
    if not line:
        raise Invalid("a merge request needs a title", hint="give one: --title TEXT")
    if len(line) > MAX_TITLE:
        raise Invalid(f"the title has {len(line)} characters", hint=f"at most {MAX_TITLE}; put the rest in --message")
    return line


def _rows(handle: ConversationHandle) -> list[MergeRequestRow]:
    requests = handle.metadata.requests
    tips = handle.tips if requests else {}
    return [
        MergeRequestRow(conversation=handle.id, request=each, state=state_now(handle.repository, each, tips))
        for each in requests.values()
    ]


def _matching(handle: ConversationHandle, name: str) -> list[MergeRequest]:
    """Return the requests with this number or prefix of an id; requests of two machines may have one number."""
    requests = handle.metadata.requests.values()
    if name.isdecimal() and len(name) < _MIN_PREFIX:
        return [request for request in requests if request.number == int(name)]
    return [request for request in requests if str(request.number) == name or (name and request.id.startswith(name))]


def _find(handle: ConversationHandle, name: str) -> MergeRequestRow:
    found = _matching(handle, name.removeprefix("#"))
    if not found:
        hint = f"list them: scopes merge-requests list {quote(handle.id)} --state all"
        raise NotFound(f"there is no merge request {name!a} in {handle.id}", hint=hint)
    if len(found) > 1:
        ids = ", ".join(request.id[:8] for request in found)
        raise Ambiguous(f"{name!a} matches {len(found)} merge requests", hint=f"name one by its id: {ids}")
    state = state_now(handle.repository, found[0], handle.tips)
    return MergeRequestRow(conversation=handle.id, request=found[0], state=state)


def _count_moved(repository: Repository, request: MergeRequest, tips: dict[BranchName, Oid]) -> int | None:
    tip = tips.get(request.source)
    if tip is None or not is_known_ancestor(repository, request.source_tip, tip):
        return None
    return len(list_new_commits(repository, tip, request.source_tip, [request.source_tip]))


def _reopen_hint(handle: ConversationHandle, request: MergeRequest, state: str) -> str:
    if state == MERGED:
        return f"see: scopes merge-requests show {quote(handle.id)} {request.number}"
    return (
        f"open a new one: scopes merge-requests open {quote(handle.id)} --source {quote(request.source)} --title TEXT"
    )


def _store(handle: ConversationHandle, request: MergeRequest, change: str) -> MergeRequestChanged:
    tx = Transaction(handle.repository, handle.id)
    tx.set_request(request)
    verb = "open" if change == "opened" else "close"
    summary = f"{verb} merge request {request.number} of {handle.id}"
    operation = tx.commit("merge-request", summary, metadata_message=f"{verb} merge request {request.number}")
    row = MergeRequestRow(conversation=handle.id, request=request, state=request.state)
    return MergeRequestChanged(row=row, change=change, operation=operation.id)
