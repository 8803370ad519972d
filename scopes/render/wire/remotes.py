"""Remotes, and what was pushed, fetched and cloned, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.sync.accept import FetchedConversation
    from scopes.sync.bundles import BundleCreated, BundleVerified
    from scopes.sync.change_remotes import RemoteChanged, RemoteList
    from scopes.sync.clone import Cloned
    from scopes.sync.delete_on_remote import DeletedOnRemote
    from scopes.sync.edit_remotes import RemoteShown
    from scopes.sync.fetch import Fetched
    from scopes.sync.fetch_manifests import ManifestsFetched
    from scopes.sync.pull import Pulled
    from scopes.sync.pushed import Pushed
    from scopes.sync.remote_conversations import RemoteConversationList
    from scopes.sync.source_push import PushedSources


@to_wire.register
def format_remote_changed(result: RemoteChanged) -> dict[str, object]:
    """Return the remote and what was done; without `conversations` if it was not asked."""
    return without_none(
        kind="remote",
        name=result.name,
        address=result.address,
        change=result.change,
        before=result.before,
        conversations=result.conversations,
        default=result.default,
    )


@to_wire.register
def format_remote_shown(result: RemoteShown) -> dict[str, object]:
    """Return what is known about a remote; `not_shared` conversations of this store it did not have."""
    return {
        "kind": "remote-status",
        "name": result.name,
        "address": result.address,
        "transport": result.transport,
        "as_branches": result.as_branches,
        "default": result.default,
        "conversations": result.conversations,
        "here": result.here,
        "not_shared": result.not_shared,
    }


@to_wire.register
def format_remote_list(result: RemoteList) -> dict[str, object]:
    """Return an object for each remote; `conversations` it had when it was last seen."""
    return {"kind": "remote-list", "remotes": [row._asdict() for row in result.remotes]}


@to_wire.register
def format_deleted_on_remote(result: DeletedOnRemote) -> dict[str, object]:
    """Return an object for each name that was given, and what became of it; `dry_run` if nothing was deleted."""
    return without_none(
        kind="deleted-on-remote",
        remote=result.remote,
        address=result.address,
        names=[without_none(**each._asdict()) for each in result.names],
        dry_run=result.dry_run or None,
    )


@to_wire.register
def format_pushed(result: Pushed) -> dict[str, object]:
    """Return an object for each conversation of which something was to send; `dry_run` if nothing was sent."""
    return {
        "kind": "push",
        **({"dry_run": True} if result.dry_run else {}),
        "remote": result.remote,
        "address": result.address,
        "conversations": [
            without_none(
                conversation=row.conversation,
                root=row.root,
                status=row.status,
                branches=row.branches,
                messages=row.messages,
                diverged=list(row.diverged),
                behind=list(row.behind),
                unsent=list(row.unsent) or None,
                replaced=[each._asdict() for each in row.replaced] or None,
                unmerged=[each._asdict() for each in row.unmerged] or None,
                reason=row.reason,
            )
            for row in result.conversations
        ],
        "unchanged": result.unchanged,
        **_sources(result.sources),
    }


def _sources(sources: Sequence[PushedSources]) -> dict[str, object]:
    """Return an object for each conversation whose original files were to be sent; nothing if there are none."""
    return {"sources": [without_none(**row._asdict()) for row in sources]} if sources else {}


@to_wire.register
def format_fetched(result: Fetched) -> dict[str, object]:
    """Return an object for each conversation in which something was new."""
    return {"kind": "fetch", **_fetched(result)}


@to_wire.register
def format_pulled(result: Pulled) -> dict[str, object]:
    """Return what was fetched, and an object for each branch that was merged."""
    merged = [without_none(**row._asdict()) for row in result.branches]
    return {"kind": "pull", **_fetched(result.fetched), "merges": merged}


def _fetched(result: Fetched) -> dict[str, object]:
    return without_none(
        remote=result.remote,
        address=result.address,
        conversations=list(map(_conversation, result.conversations)),
        unchanged=result.unchanged,
        refused_before=list(result.refused_before) or None,
        operation=result.operation,
        listed=None if result.listed is None else result.listed._asdict(),
    )


@to_wire.register
def format_cloned(result: Cloned) -> dict[str, object]:
    """Return the path of the store and the conversations in it, or how many conversations its remote has."""
    if result.listed is not None:
        return {"kind": "clone-manifests", "path": result.path, **_manifests(result.listed)}
    document: dict[str, object] = {"kind": "clone", "path": result.path}
    if result.fetched is not None:
        document |= {"remote": result.fetched.remote, "address": result.fetched.address}
        document["conversations"] = list(map(_conversation, result.fetched.conversations))
    return document


@to_wire.register
def format_bundle_created(result: BundleCreated) -> dict[str, object]:
    """Return the path of the bundle and an object for each conversation; without `size_bytes` it was not written."""
    return without_none(
        kind="bundle",
        path=result.path,
        size_bytes=result.size_bytes,
        conversations=[without_none(**row._asdict()) for row in result.conversations],
        **_sources(result.sources),
    )


@to_wire.register
def format_bundle_verified(result: BundleVerified) -> dict[str, object]:
    """Return an object for each conversation of a bundle."""
    rows = [without_none(**row._asdict()) for row in result.conversations]
    return {"kind": "bundle-content", "path": result.path, "conversations": rows}


@to_wire.register
def format_manifests_fetched(result: ManifestsFetched) -> dict[str, object]:
    """Return how many conversations the remote has, and why some manifests are not acceptable, by root."""
    return {"kind": "manifests", **_manifests(result)}


def _manifests(result: ManifestsFetched) -> dict[str, object]:
    return {
        "remote": result.remote,
        "address": result.address,
        "total": result.total,
        "new": result.new,
        "refused": dict(result.refused),
    }


@to_wire.register
def format_remote_conversations(result: RemoteConversationList) -> dict[str, object]:
    """Return an object for each conversation; without `conversation` if it is not here.

    `id` and `last_activity` are the names of the same in a list of what is here, so that one script reads both.
    """
    return {
        "kind": "remote-conversations",
        "conversations": [
            without_none(**row._asdict(), id=row.conversation, last_activity=row.activity)
            for row in result.conversations
        ],
        "seen": dict(result.seen),
        "more": result.more,
    }


def _conversation(row: FetchedConversation) -> dict[str, Any]:
    """Return a conversation; without `conversation` if it is not here, without `local` for a branch that is not."""
    return without_none(
        conversation=row.conversation,
        root=row.root,
        status=row.status,
        title=row.title,
        branches=[
            without_none(
                name=branch.name,
                local=branch.local,
                state=branch.state,
                messages=branch.messages,
                new=branch.new or None,
            )
            for branch in row.branches
        ],
        metadata=row.metadata,
        replaced=[without_none(**each._asdict()) for each in row.replaced],
        renamed=[each._asdict() for each in row.renamed] or None,
        reason=row.reason,
    )
