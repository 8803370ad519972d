"""`push`: send conversations to a remote. Each has one ref there, which is moved only from its last known value.

If a ref of the remote has moved, it is fetched first, and the push is planned again. Confirmed refs are recorded batch
by batch, so an interrupted push continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scopes.errors import Invalid
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId
from scopes.purge.unfinished import refuse_unfinished
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.sync.change_notes import note_deleted_conversations
from scopes.sync.choose_to_send import choose_to_send, find_unsure
from scopes.sync.connection import Connection
from scopes.sync.deleted_there import leave_deleted
from scopes.sync.family import list_members
from scopes.sync.forced_branches import take_branches
from scopes.sync.local_conversations import Selection, list_shared, name_of_conversation
from scopes.sync.lost_on_remote import note_lost
from scopes.sync.member_push import MemberPush, PushRun
from scopes.sync.placement import Placement
from scopes.sync.purge_notes import OfferGate
from scopes.sync.purged_push import list_purged
from scopes.sync.pushed import Pushed, PushedConversation
from scopes.sync.remotes import Remote, remote_option
from scopes.sync.source_push import push_sources

_LOOK: Final = "look at one: scopes secrets list --rules ID; it is none: scopes secrets allow ID; "
_SECRETS: Final = Note(
    "conversations with a possible secret were not pushed",
    f"{_LOOK}it is one: scopes secrets list has the command that takes it out; let them pass this time: the same push "
    "with --secrets allow",
)
_SOURCES: Final = Note(
    "original files with a possible secret were not pushed; their conversations do not need them",
    f"{_LOOK}leave the files out: the same push without --originals; let them pass this time: the same push with "
    "--secrets allow",
)


def push(
    repository: Repository,
    remote: Remote,
    selection: Selection,
    connection: Connection,
    *,
    force: bool = False,
    drops_unmerged: bool = False,
    allow_secrets: bool = False,
    purged: bool = False,
    with_sources: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Send the chosen conversations to a remote; if none is chosen, those that it already has.

    A conversation that may have a secret is refused, unless `allow_secrets`. If a repository is full, it is closed, and
    new conversations go to the next one. A dry run compares with what was last seen of the remote, without contacting
    it.

    force: also replace branches of the remote that have other messages; if branches are named (CONV/BRANCH), only
        these. A conversation is refused if that would remove messages that this store has never seen, or that no branch
        here ever had. Also replaces what fails a check on the remote, such as a foreign commit, or messages of somebody
        else above purged content.
    drops_unmerged: with `force`, also remove messages there that no branch here ever had
    purged: push the conversations whose purged content the remote still has, and delete there what was purged as a
        whole. Without it, purged content is replaced only in the chosen conversations.
    with_sources: also send the original files of each conversation, if none of them may have a secret.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved, or nothing meets the conditions.
        Invalid: nothing is chosen, and the remote has nothing of this store.
        Inaccessible: the remote does not answer, or refuses all access; what it has confirmed is recorded.
        Corrupt: what was fetched because the remote had moved fails a check.
    """
    refuse_unfinished(repository)
    selection, branches = take_branches(repository, selection, force=force)
    members = list_members(repository, remote)
    asked = None if dry_run else connection
    chosen = list_purged(repository, members, asked) if purged else _choose(repository, members, selection)
    unsure = None if purged else find_unsure(repository, selection)
    chosen, left = (chosen, ()) if purged or selection.names else leave_deleted(repository, members[0].name, chosen)
    run = PushRun(
        repository, connection, "allow" if allow_secrets else "refuse", force,
        members[0].name, remote_option(repository, remote.name),
        bool(selection.names), OfferGate(repository), purged, branches,
        drops_unmerged,
    )  # fmt: skip
    placement = Placement(repository, members, connection)
    rows, pushes, places, deleted = _push_to_members(run, placement, chosen, dry_run=dry_run)
    sources = push_sources(repository, places, connection, run.mode, wanted=with_sources, dry_run=dry_run)
    rows |= {each: _refuse(repository, each, placement.reason) for each in placement.refused}
    chosen = [each for each in chosen if each in rows]  # another process may have deleted one meanwhile
    shown = tuple(rows[each] for each in chosen if rows[each].is_shown)
    lost = note_lost(repository, [each.name for each in placement.asked], run.option)
    return Pushed(
        remote=members[0].name,
        address=members[0].address.text,
        conversations=shown,
        unchanged=len(chosen) - len(shown),
        dry_run=dry_run,
        sources=sources.rows,
        purged=tuple(dict.fromkeys(root for each in pushes for root in each.purged_roots)),
        notes=(
            *((_SECRETS,) if any(each.has_found_secrets for each in pushes) else ()),
            *((_SOURCES,) if sources.has_found_secrets else ()),
            *sources.notes,
            *placement.notes,
            *left,
            *filter(None, [unsure]),
            *dict.fromkeys((*lost, *(note for each in pushes for note in each.describe()))),
            *note_deleted_conversations(repository, placement.gone, run.option, chosen),
            *dict.fromkeys(deleted),
            *run.offers.notes([row.conversation for row in shown if row.status in {"refused", "deleted"}]),
        ),
    )


def _push_to_members(
    run: PushRun, placement: Placement, chosen: list[ConversationId], *, dry_run: bool
) -> tuple[dict[ConversationId, PushedConversation], list[MemberPush], dict[Remote, list[ConversationId]], list[Note]]:
    """Push to each repository of a remote.

    Return the rows, the pushes, the conversations that each repository has now, and notes about what was deleted there.
    """
    rows: dict[ConversationId, PushedConversation] = {}
    pushes: list[MemberPush] = []
    deleted: list[Note] = []
    places: dict[Remote, list[ConversationId]] = {}
    for member, conversations in placement.preview(chosen) if dry_run else placement.walk(chosen):
        each = MemberPush(run, member)
        if conversations:
            rows |= each.preview(conversations) if dry_run else each.run(conversations)
        deleted += each.finish(purged=run.purged, dry_run=dry_run)
        pushes.append(each)
        places.setdefault(member, []).extend(
            name for name in conversations if name in rows and rows[name].status != "refused"
        )
    return rows, pushes, places, deleted


def _choose(repository: Repository, members: Sequence[Remote], selection: Selection) -> list[ConversationId]:
    names = [member.name for member in members]
    if not selection.is_empty:
        return choose_to_send(repository, selection)
    shared = list_shared(repository, *names)
    if not shared:
        hint = "name conversations, or use --project DIR, --since or --all"
        raise Invalid(f"nothing of this store is on {names[0]} yet, and nothing was chosen to push", hint=hint)
    return shared


def _refuse(repository: Repository, conversation: ConversationId, reason: str) -> PushedConversation:
    root = name_of_conversation(repository, conversation).root
    branches = len(list_branch_tips(repository, conversation))
    return PushedConversation(conversation, root, "refused", branches, reason=reason)
