"""Notes of fetch, pull and push about unexpected changes by others, such as a replaced title, each with a remedy.

Each hint is a command that can be run as it is: names and titles are quoted for a shell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from shlex import quote

from scopes.history.names import MAIN, list_branch_tips
from scopes.history.sources import NOTHING, read_purged
from scopes.ids import BranchName, ConversationId, Oid
from scopes.purge.gone_there import read_lost
from scopes.purge.offers import read_offered
from scopes.result import Note, first_few, plural
from scopes.store.config import read_gone
from scopes.store.graph import is_ancestor
from scopes.store.refs import REMOTES, SYMBOLIC, active_ref, branch_ref
from scopes.store.repository import Repository
from scopes.sync.accept import FetchedConversation, RenamedBranch, ReplacedValue
from scopes.sync.local_conversations import list_roots
from scopes.sync.remotes import Remote

_SHORT_OID = 12


def describe_changes(rows: Iterable[FetchedConversation], remote: Remote) -> Iterator[Note]:
    """Yield a note for each local value that was replaced, and for each deleted branch that has new messages."""
    for row in rows:
        for value in row.replaced:
            yield _note_replaced(row.conversation or "", value)
        for renamed in row.renamed:
            yield _note_renamed(row.conversation or "", renamed)
        for branch in row.branches:
            if branch.new:
                news = f"{branch.new} new {plural(branch.new, 'message')}"
                text = f"{row.conversation}/{branch.name} (deleted here) has {news}"
                conversation, start = quote(row.conversation or ""), quote(f"{remote.name}/{branch.name}")
                yield Note(text, f"get it: scopes branch {conversation} {quote(branch.name)} --from {start}")


def _note_replaced(conversation: str, value: ReplacedValue) -> Note:
    if value.tag is None:
        title = "has no title now" if value.after is None else f"is {value.after!r} now"
        return Note(
            f"{conversation}: the title that you gave, {value.before!r}, was replaced: it {title}",
            f"to have it again: scopes rename {quote(conversation)} {_option('--title', value.before)}",
        )
    old, tag = value.before[:_SHORT_OID], quote(value.tag)
    what = "was removed" if value.after is None else f"is at {value.after[:_SHORT_OID]} now"
    first = "" if value.after is None else f"scopes tag {quote(conversation)} {tag} --delete; then: "
    hint = f"to have it again: {first}scopes tag {quote(conversation)} {tag} {quote(old)}"
    return Note(f"{conversation}: the tag {value.tag} that you set at {old} {what}", hint)


def _note_renamed(conversation: str, branch: RenamedBranch) -> Note:
    what = "active branch" if branch.active else "branch"
    named = f"the {what} that you named {branch.before}" if branch.own else f"the {what} {branch.before}"
    text = f"{conversation}: somebody else has renamed {named}: it is {branch.after} now"
    after = quote(f"{conversation}/{branch.after}")
    return Note(text, f"to have the name again: scopes rename {after} {quote(branch.before)}")


def _option(name: str, value: str) -> str:
    """Return an option with its value; one that begins with a dash would be another option."""
    return f"{name}={quote(value)}" if value.startswith("-") else f"{name} {quote(value)}"


def note_deleted_branches(
    repository: Repository, rows: Iterable[FetchedConversation], remote: Remote
) -> tuple[Note, ...]:
    """Return a note about branches that somebody has deleted on the remote: they stay here."""
    deleted = [(row.conversation, branch) for row in rows for branch in row.deleted]
    if not deleted:
        return ()
    number, (conversation, branch) = len(deleted), deleted[0]
    names = first_few(f"{name}/{each}" for name, each in deleted)
    text = f"{number} {plural(number, 'branch')} {'was' if number == 1 else 'were'} deleted on {remote.name}: {names}"
    delete = "; then: ".join(_commands_to_delete(repository, conversation or ConversationId(""), branch))
    return (Note(text, f"it stays here; delete it here, too: {delete}"),)


def note_deleted_there(repository: Repository, names: Iterable[str], remote: str, option: str) -> tuple[Note, ...]:
    """Return a note about branches that were deleted on a remote and are here: a push does not send them again.

    names: of branches, as CONV/BRANCH; option: ` NAME` for the hint, if it needs that
    """
    deleted = list(names)
    if not deleted:
        return ()
    number = len(deleted)
    text = f"{number} {plural(number, 'branch')} {'was' if number == 1 else 'were'} deleted from {remote}"
    conversation, _, branch = deleted[0].partition("/")
    again = f"send it again: scopes push{option} {quote(deleted[0])} --force"
    delete = "; then: ".join(_commands_to_delete(repository, ConversationId(conversation), BranchName(branch)))
    return (Note(f"{text}: {first_few(deleted)}", f"{again}; or delete it here, too: {delete}"),)


def _commands_to_delete(repository: Repository, conversation: ConversationId, branch: BranchName) -> Iterator[str]:
    """Yield the commands that delete a branch which may be active, or have messages that no other branch has."""
    tips = list_branch_tips(repository, conversation)
    tip = tips.pop(branch)
    if repository.find_ref(active_ref(conversation)) == SYMBOLIC + branch_ref(conversation, branch):
        yield f"scopes switch {quote(conversation)} {MAIN}"
    is_needed = not any(is_ancestor(repository, tip, other) for other in tips.values())
    yield f"scopes branch {'-D' if is_needed else '-d'} {quote(conversation)} {quote(branch)}"


def note_deleted_conversations(
    repository: Repository,
    gone: Mapping[str, Collection[str]],
    option: str,
    named: Collection[ConversationId] = (),
) -> tuple[Note, ...]:
    """Return a note about conversations that a remote had until now, and that are here.

    Left out are conversations that were purged, that disappeared all at once, or that are in another repository of the
    same remote: other notes report these.

    gone: the roots, by the repositories of the remote, the first one first
    named: conversations that another note reports
    """
    all_gone, lost = read_gone(repository.path), read_lost(repository.path)
    purged = read_offered(repository).join(read_purged(repository)) if any(gone.values()) else NOTHING
    there = {
        ref.rpartition("/")[2]
        for name in gone
        for ref in repository.list_ref_names(f"{REMOTES}{name}/")
        if ref.rpartition("/")[2] not in all_gone.get(name, ())
    }
    here = list_roots(repository) if any(gone.values()) else {}
    roots = {root for name, found in gone.items() for root in found if root not in lost.get(name, ())}
    names = sorted(here[Oid(root)] for root in roots - there if root in here and not purged.has_conversation(Oid(root)))
    names = [name for name in names if name not in named]
    if not names:
        return ()
    number, first = len(names), next(iter(gone))
    was, it = ("was", "it stays") if number == 1 else ("were", "they stay")
    text = f"{number} {plural(number, 'conversation')} {was} deleted on {first}: {first_few(names)}"
    delete, push = f"scopes delete {quote(names[0])}", f"scopes push{option} {quote(names[0])} --force"
    return (Note(text, f"{it} here; delete it here, too: {delete}; to have it there again: {push}"),)
