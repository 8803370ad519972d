"""Why an operation cannot be undone or redone, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote

from scopes.errors import Refused
from scopes.history.acceptances import find_second_acceptance
from scopes.history.appends import conversations_of
from scopes.history.metadata import read_metadata_at
from scopes.history.revisions import find_root_commit, list_branch_tips
from scopes.history.shared_refs import conversations_inside
from scopes.ids import ConversationId, Oid
from scopes.merge.in_progress import decode_in_progress, list_in_progress
from scopes.model.operation import Operation, RefChange
from scopes.result import Note
from scopes.store import refs
from scopes.store.expire import PURGE
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository

LIST_OPERATIONS = "see: scopes operations list"
RESOLVE = "resolve"
IMPORT = "import"
PUSH = "push"
REMOTE = "remote"
_ANY = "CONV"
_FETCHES = "fetch "  # that of what a push fetches for itself
_DELETES = "delete "  # how the summary of `push --delete` begins
_ON_REMOTES = frozenset(prefix.split("/")[2] for prefix in (refs.REMOTES, refs.REMOTE_SOURCES))


def check_redo(repository: Repository, target: Operation, changes: Sequence[RefChange]) -> None:
    """Refuse a redo that would accept a decision candidate twice or leave messages out of a merge."""
    for change in changes:
        _refuse_second_acceptance(repository, target, change)
    _refuse_new_messages(repository, target, changes)


def check_undo(repository: Repository, target: Operation, changes: Sequence[RefChange]) -> None:
    """Refuse to undo the resolution of a conflict whose merge or replay has ended: the target would keep it."""
    for change in changes if target.kind == RESOLVE else ():
        pair = refs.split_branch_ref(change.ref)
        if pair is not None and all(each.branch != pair[1] for each in list_in_progress(repository, pair[0])):
            hint = "undo first what ended it: scopes undo OPERATION; see: scopes operations list"
            raise Refused(f"what {pair[0]}/{pair[1]} was for has ended since '{target.summary}'", hint=hint)


def _refuse_new_messages(repository: Repository, target: Operation, changes: Sequence[RefChange]) -> None:
    """Refuse to redo the end of a merge if its conflict-resolution branch got messages that it would not have."""
    after = {change.ref: change.new for change in changes}
    for conversation in {refs.conversation_of(change.ref) for change in changes} - {None}:
        metadata = after.get(refs.meta_ref(ConversationId(str(conversation))))
        if conversation is None or metadata is None:
            continue
        tips = {
            **list_branch_tips(repository, conversation),
            **{pair[1]: Oid(new) for ref, new in after.items() if (pair := refs.split_branch_ref(ref)) and new},
        }
        left = decode_in_progress(conversation, read_metadata_at(repository, Oid(metadata)).branches, tips)
        for each in list_in_progress(repository, conversation):
            merged = after.get(refs.branch_ref(conversation, each.target))
            if each.kind != "merge" or each in left or merged is None or is_ancestor(repository, each.tip, Oid(merged)):
                continue
            if all(other.branch != each.branch for other in left):
                raise Refused(
                    f"{conversation}/{each.branch} has new messages since '{target.summary}'",
                    hint="finish the merge with them: "
                    f"scopes merge {quote(conversation)} --continue --branch {quote(each.branch)}",
                )


def refuse_others(repository: Repository, target: Operation, conversation: ConversationId) -> None:
    """Refuse an operation that changed other conversations too."""
    others = sorted((conversations_of(target) | conversations_inside(repository, target)) - {conversation})
    if others:
        names = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        hint = f"undo it everywhere: scopes undo {target.id[:8]}"
        if target.kind == IMPORT:
            hint = f"nothing else is to be undone here; to remove this one alone: scopes delete {quote(conversation)}"
        raise Refused(f"'{target.summary}' also changed {names}", hint=hint)


def _refuse_second_acceptance(repository: Repository, target: Operation, change: RefChange) -> None:
    """Refuse to bring back a decision whose candidate was accepted again after the undo."""
    pair = refs.split_branch_ref(change.ref)
    if pair is None or change.new is None:
        return
    old = None if change.old is None else Oid(change.old)
    accepted = find_second_acceptance(repository, pair[0], old, Oid(change.new))
    if accepted is not None:
        hint = f"see the decision: scopes cat {quote(pair[0])}/{accepted.message}"
        raise Refused(f"{accepted.author} accepted the decision candidate again since '{target.summary}'", hint=hint)


def final_operation(record: Operation) -> Refused:
    """Return the error for an operation that deleted what undo would need."""
    return Refused(
        f"{'purge' if record.kind == PURGE else 'gc --expire'} cannot be undone: {record.summary}",
        hint="what came before and is still recorded: scopes operations list; then: scopes undo OPERATION",
    )


def final_push(record: Operation) -> Refused:
    """Return the error for a push, which changed nothing here, or for a change of what a remote is called."""
    if record.kind == REMOTE:
        hint = "use scopes remote add, rename or set-url"
        return Refused(f"a change of a remote cannot be undone: {record.summary}", hint=hint)
    hint = "what was sent is in its history; to go back here: scopes rewind CONV; then: scopes push CONV --force"
    return Refused(f"a push cannot be undone: {record.summary}", hint=hint)


def note_kept(repository: Repository, target: Operation, since: Iterable[Operation]) -> tuple[Note, ...]:
    """Return a note if an undo passes over something that it cannot take back: what was sent, or a changed remote.

    target: what is undone; since: pushes and changes of remotes, the newest first; what a push did for itself alone is
        no reason
    """
    for record in since:
        if record.kind == REMOTE:
            return (Note(f"not undone: {record.summary}", "see: scopes help remote"),)
        sent = {each.ref: each for each in record.changes if each.ref.split("/")[2] in _ON_REMOTES}
        if not sent or record.summary.startswith(_FETCHES):
            continue
        there = "/".join(next(iter(sent)).split("/")[3:-1])
        if record.summary.startswith(_DELETES):
            return (Note(f"not undone: push --delete: {record.summary}", f"send it again: scopes push {_ANY}"),)
        text = f"not undone: {record.summary}; what was pushed stays on {there}"
        roots = {find_root_commit(repository, name): name for name in sorted(conversations_of(target))}
        shown = {ref: roots[Oid(root)] for ref in sent if (root := ref.rpartition("/")[2]) in roots}
        name = next(iter(shown.values()), _ANY)
        if all(each.old is None for ref, each in sent.items() if ref in (shown or sent)):
            return (
                Note(text, f"if you meant that: scopes redo; then delete it there: scopes push --delete {quote(name)}"),
            )
        return (Note(text, f"to have it there as it is here then: scopes push {quote(name)} --force"),)
    return ()


def append_moved(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for an append whose messages are not the last ones of their branch."""
    shown = change.ref.removeprefix(refs.HEADS)
    messages = target.details["messages"]
    if current is None:
        return Refused(f"{shown} was deleted since '{target.summary}'", hint=LIST_OPERATIONS)
    if change.old is None or not is_ancestor(repository, Oid(change.old), Oid(current)):
        return Refused(f"{shown} was moved since '{target.summary}'", hint=LIST_OPERATIONS)
    rewind = f"scopes rewind {quote(shown)} --to {quote((change.new or '')[:12])}"
    hint = f"take back the newer ones too: {rewind}"
    if len(messages) == 1:
        conversation, branch = target.details["conversation"], target.details["branch"]
        hint = f"scopes retract {quote(conversation)} {quote(messages[0][:12])} --branch {quote(branch)}; or {hint}"
    if current == change.old:
        return Refused(f"{shown} has other messages between those of '{target.summary}'", hint=hint)
    return Refused(f"{shown} has newer messages than '{target.summary}'", hint=hint)


def moved_since(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for a ref that has moved since an operation; its hint names the commands to undo it anyway."""
    shown = change.ref.removeprefix(refs.HEADS)
    if (
        change.ref.startswith(refs.HEADS)
        and current
        and change.old
        and is_ancestor(repository, Oid(change.old), Oid(current))
    ):
        rewind = f"scopes rewind {quote(shown)} --to {quote(change.old[:12])}"
        return Refused(
            f"{shown} has new messages since '{target.summary}'",
            hint=f"rewind them first: {rewind}; then: scopes undo {target.id}",
        )
    return Refused(f"{shown} was moved since '{target.summary}'", hint=LIST_OPERATIONS)
