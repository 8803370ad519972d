"""Branches that sessions of agents go on writing, and what becomes of one that somebody else has moved.

An import moves the branch of a session as long as it is where the last import left it, which a tracking ref says. After
a message of somebody else on it the new messages of the session go to a branch `import/...`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import count_messages, is_root, read_root_of
from scopes.history.revisions import MAIN, Revision, find_root_commit, list_branch_tips
from scopes.history.sources import TRACKING
from scopes.ids import BranchName, Oid
from scopes.model.conversation import ACP
from scopes.model.path_encoding import encode_component
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.repository import Repository, read_commit
from scopes.store.session_locks import is_session_locked, session_lock_path

IMPORT_PREFIXES = ("import/", "import-")  # of branches that follow a source in place of one that the user moved
NOTES = BranchName("notes")  # where agents write beside a session


def is_followed(branch: BranchHandle, tip: Oid) -> bool:
    """Return True if the next import of a session goes on from `tip`, the tip of a branch."""
    tracked = branch.repository.list_refs(TRACKING)
    if branch.name.startswith(IMPORT_PREFIXES):
        return tip in tracked.values()
    return tip in _tracked_as(branch.name, tracked)


def is_written_by_session(branch: BranchHandle) -> bool:
    """Return True if a session goes on writing a branch: an import follows it, or `scopes acp` records it now."""
    match branch.entry.extra.get(ACP):
        case {"agent": str(agent), "session": str(session)}:
            if is_session_locked(session_lock_path(branch.repository.path, (agent, session))):
                return True
    return is_followed(branch, branch.tip)


def note_followed(branch: BranchHandle, appended: Oid, verb: str = "append") -> tuple[Note, ...]:
    """Return a note if the commit that was appended to a branch has taken it from the session that wrote it.

    Of a conversation that was not imported nothing is looked up: appends are fast. `verb` is the command.
    """
    before = read_commit(branch.repository, read_commit(branch.repository, appended).parents[0]).oid
    if not _is_taken(branch, before):
        return ()
    where = shlex.quote(f"{branch.conversation.id}/{NOTES}")
    command = f"scopes {verb} {where} --create ..."
    return (Note(_taken_text(branch), f"to leave it to the session: scopes undo, and then: {command}"),)


def note_merged(branch: BranchHandle, before: Oid, source: str, *, dry_run: bool = False) -> tuple[Note, ...]:
    """Return a note if a merge has taken a branch, which was at `before`, from the session that wrote it.

    source: what was merged, or would be with `dry_run`
    """
    if not _is_taken(branch, before):
        return ()
    if dry_run:
        return (
            Note(_taken_text(branch, "is", "would go", "then"), f"to leave it to the session: do not merge {source}"),
        )
    return (Note(_taken_text(branch), "to leave it to the session: scopes undo"),)


def _is_taken(branch: BranchHandle, before: Oid) -> bool:
    """Return True if a session went on from the commit that a branch had before somebody else moved it."""
    return (
        not is_root(read_commit(branch.repository, before))
        and _is_imported(branch, before)
        and is_followed(branch, before)
    )


def _taken_text(branch: BranchHandle, was: str = "was", go: str = "go", since: str = "now") -> str:
    prefix = IMPORT_PREFIXES[0]
    return f"{branch} {was} the branch of a session, whose next messages {go} to a branch {prefix}... from {since} on"


def find_successor(branch: BranchHandle) -> BranchName | None:
    """Return the branch that has the new messages of a session since somebody else moved its branch.

    None if the branch was not moved, or has these messages too, such as after a merge.
    """
    repository, tips = branch.repository, list_branch_tips(branch.repository, branch.conversation.id)
    others = {name: tip for name, tip in tips.items() if name.startswith(IMPORT_PREFIXES) and name != branch.name}
    if not others or branch.name not in tips:
        return None
    tracked = repository.list_refs(TRACKING)
    own = branch.name
    if own.startswith(IMPORT_PREFIXES):
        if tips[own] in tracked.values():
            return None
        own = branch.entry.parent or MAIN
    followed = _tracked_as(own, tracked)
    found = [
        name for name, tip in others.items() if tip in followed and not is_ancestor(repository, tip, tips[branch.name])
    ]
    return max(found, key=lambda name: read_commit(repository, tips[name]).time, default=None)


def successor_notes(repository: Repository, revision: Revision, text: str) -> tuple[Note, ...]:
    """Return a note if the branch that a reader gets was moved, and its session goes on elsewhere.

    text: the name that was given for the revision; if it names more than a conversation there is no note
    """
    if revision.branch is None or "/" in text or "~" in text or "@{" in text:
        return ()
    branch = StoreHandle(repository).conversation(revision.conversation).branch(revision.branch)
    successor = find_successor(branch)
    if successor is None:
        return ()
    what = f"{branch} was moved here: the new messages of its session are on {successor}"
    switch = shlex.join(["scopes", "switch", branch.conversation.id, successor])
    return (Note(what, f"to go on there: {switch}"),)


def reader_notes(repository: Repository, revision: Revision, text: str) -> tuple[Note, ...]:
    """Return notes for a reader of a branch: where its session continues, and the branch with notes on it."""
    return (*successor_notes(repository, revision, text), *note_notes_branch(repository, revision))


def note_notes_branch(repository: Repository, revision: Revision) -> tuple[Note, ...]:
    """Return a note if the branch `notes` has messages that a branch, which is read to its tip, does not have."""
    if revision.branch is None or revision.branch == NOTES:
        return ()
    tips = list_branch_tips(repository, revision.conversation)
    if NOTES not in tips or tips.get(revision.branch) != revision.oid:
        return ()
    count = count_messages(list_new_commits(repository, tips[NOTES], revision.oid))
    if not count:
        return ()
    where = f"{revision.conversation}/{NOTES}"
    text = f"{where} has {count:,} {plural(count, 'message')} that {'is' if count == 1 else 'are'} not on this branch"
    return (Note(text, f"read them: scopes log {shlex.quote(where)}"),)


def _tracked_as(name: BranchName, tracked: Mapping[str, str]) -> set[str]:
    """Return where the last imports left the branches of sources that have a name here."""
    return {oid for ref, oid in tracked.items() if _flat(_name_of(ref)) == _flat(encode_component(name))}


def _is_imported(branch: BranchHandle, tip: Oid) -> bool:
    root = find_root_commit(branch.repository, branch.conversation.id)
    return (
        root is not None
        and read_root_of(branch.repository, read_commit(branch.repository, root), tip).format is not None
    )


def _name_of(ref: str) -> str:
    return ref.rpartition("/")[2]


def _flat(name: str) -> str:
    """Return a name as a branch has it whose own name was taken, see `importers.branch_updates`."""
    return name.replace("/", "-").replace("%2F", "-")
