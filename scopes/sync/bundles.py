"""`push`, `fetch` and `fetch --list` of a FILE.bundle: conversations as a git bundle, to be copied without a server.

A bundle has the refs that a remote would have, each with its complete conversation, so it needs no connection and no
other file. It is read like a remote: into a quarantine, with all checks. The last bundle is tracked as a remote of the
name `bundle`: its branches are `bundle/main` and so on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.errors import Corrupt, Inaccessible, NotFound, ScopesError, SecretsFound
from scopes.exporters.atomic_save import check_target, write_file
from scopes.history.handles import read_first_prompt
from scopes.ids import ConversationId, Oid
from scopes.result import OMIT_EMPTY, Column, Note, Result, Rows, format_size
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of
from scopes.store.config import BUNDLE
from scopes.store.git_program import Quarantine, ReceivedObjects, find_git, git_environment, open_quarantine
from scopes.store.objects import Objects
from scopes.store.repository import Prunes, Repository, again_after_prunes
from scopes.store.transactions import shared_write, unless_pruned
from scopes.sync.addresses import Address
from scopes.sync.choose_to_send import choose_to_send, find_unsure
from scopes.sync.clearance import clear_for_push
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.fetch import Fetched, fetch
from scopes.sync.git_process import describe_failure, run_limited
from scopes.sync.git_transport import is_bundle
from scopes.sync.incoming import fetch_acceptable
from scopes.sync.incoming_sources import note_refused_sources
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.manifest import count_messages
from scopes.sync.names import RemoteName, is_remote_ref, parse_remote_ref
from scopes.sync.outgoing import Outgoing, plan_push
from scopes.sync.purge_notes import OfferGate
from scopes.sync.purged_lists import find_list
from scopes.sync.receive import new_objects
from scopes.sync.remote_selection import EVERYTHING_SPEC
from scopes.sync.remotes import Remote
from scopes.sync.source_push import SOURCE_COLUMNS, PushedSources, bundle_sources
from scopes.sync.unpacked_bundles import unpacked

BundledStatus: TypeAlias = Literal["included", "refused", "new", "known", "unacceptable"]
_NOBODY: Final = "-"  # no remote has this name, so no tracking refs exist, and everything is checked
_PIECE: Final = 1 << 20
_OPTIONS: Final = ("core.bigFileThreshold=16m", "core.packedGitWindowSize=32m", "core.packedGitLimit=256m")
_SECRETS: Final = Note(
    "conversations with a possible secret are not in the bundle",
    "look at one: scopes secrets list --rules ID; it is none: scopes secrets allow ID; "
    "let them pass this time: --secrets allow",
)


class BundledConversation(NamedTuple):
    """A conversation of a bundle.

    conversation: its name here; None if it is not here
    status: when a bundle is written `included` or `refused`; when it is read `new`, `unacceptable`, or `known` if the
        conversation is here, even if the bundle has newer messages of it
    title: if it has none and is here, the beginning of the first prompt
    messages: how many its branches have together, as `list` counts them
    """

    conversation: ConversationId | None
    root: Oid
    status: BundledStatus
    title: str | None = None
    branches: int = 0
    messages: int = 0
    reason: str | None = None

    @property
    def name(self) -> str:
        """The id here, or the beginning of the root of a conversation that is not here."""
        return self.conversation or self.root[:12]

    @property
    def branch_count(self) -> int | None:
        """The number of branches; None if it is not known."""
        return self.branches or None

    @property
    def message_count(self) -> int | None:
        """The number of messages; None if it is not known."""
        return self.messages if self.branches else None

    @property
    def text(self) -> str:
        """Why it was not taken, otherwise the title."""
        return self.reason or self.title or ""


_COLUMNS: Final = (
    Column("name", "Conversation", "branch"),
    Column("status", "State", "state"),
    Column("branch_count", "Branches", "count"),
    Column("message_count", "Messages", "count"),
    Column("text", "Title", on="pipe"),
    Column("title", on="terminal"),
    Column("reason", form="below", on="terminal"),
    Column("root", on="template"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCreated(Result):
    """A bundle that was written; `size_bytes` is None if it would have been empty, and there is no file."""

    kind = "bundle"
    rows_in = "conversations"
    is_one_row = True
    columns = _COLUMNS
    further = (Rows("sources", SOURCE_COLUMNS),)

    path: str
    size_bytes: int | None
    conversations: tuple[BundledConversation, ...]
    sources: tuple[PushedSources, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """Where the bundle is."""
        return self.remark or f"wrote {self.path} ({format_size(self.size_bytes or 0)})"

    @property
    def remark(self) -> str:
        """That there is none."""
        return "no bundle was written" if self.size_bytes is None else ""

    @property
    def next_step(self) -> str:
        """What to do with the bundle."""
        return "" if self.size_bytes is None else "on another machine: scopes fetch FILE"

    @property
    def exit_code(self) -> int:
        """1 if a conversation or its original files were refused, else 0."""
        statuses = {*(each.status for each in self.conversations), *(each.status for each in self.sources)}
        return 1 if "refused" in statuses else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleVerified(Result):
    """The conversations in a bundle, all of which were checked; nothing was imported."""

    kind = "bundle-content"
    rows_in = "conversations"
    is_one_row = True
    columns = _COLUMNS

    path: str
    conversations: tuple[BundledConversation, ...]

    @property
    def sentence(self) -> str:
        """That the bundle is empty."""
        return self.remark

    @property
    def remark(self) -> str:
        """The same for a pipe."""
        return "" if self.conversations else "the bundle has no conversation"

    @property
    def next_step(self) -> str:
        """How to take them."""
        is_good = bool(self.conversations) and self.exit_code == 0
        return f"get them: scopes fetch {quote(self.path)}" if is_good else ""

    @property
    def exit_code(self) -> int:
        """The exit code of damage (7) if a conversation failed a check, else 0."""
        return Corrupt.exit_code if any(each.status == "unacceptable" for each in self.conversations) else 0


def create_bundle(
    repository: Repository,
    path: str,
    selection: Selection,
    connection: Connection,
    *,
    force: bool = False,
    allow_secrets: bool = False,
    with_sources: bool = False,
) -> BundleCreated:
    """Write the chosen conversations into a file, as a push to an empty remote would send them.

    With `with_sources` the original files of the conversations are in it, too.
    A conversation that may have a secret is left out, unless secrets are allowed; so is one that came from elsewhere
    and has content that was purged there. If secrets are allowed, the bundle also records the removal of tags and
    branches whose names may have a secret: an earlier bundle may have had them. The list of what was purged here is in
    the bundle, too, as a push sends it. The file is written completely or not at all.

    If something is purged meanwhile, the bundle is made again: once a purge is done, no bundle with it appears.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved, or nothing meets the conditions.
        Refused: the file exists, and `force` is not given.
        Inaccessible: it cannot be written.
        Busy: something was purged each time.
    """
    check_target(path, force=force, hint="a bundle is a file: name another one")
    options = _Options(force, "allow" if allow_secrets else "refuse", with_sources)
    return again_after_prunes(repository.path, lambda: _create(repository, path, selection, connection, options))


class _Options(NamedTuple):
    force: bool
    mode: Mode
    with_sources: bool


def _create(
    repository: Repository, path: str, selection: Selection, connection: Connection, options: _Options
) -> BundleCreated:
    chosen = choose_to_send(repository, selection)
    if not chosen:
        raise NotFound("there is no such conversation", hint="see: scopes list")
    rows: list[BundledConversation] = []
    manifests: dict[str, Oid] = {}
    names: dict[ConversationId, RemoteName] = {}
    with shared_write(repository), new_objects(repository, len(chosen)) as objects:
        prunes = Prunes(repository.path)
        offers = OfferGate(repository)
        has_secrets = False
        for conversation in chosen:
            outgoing = plan_push(repository, None, conversation, objects, all_removed=options.mode == "allow")
            reason = offers.find_refusal(outgoing)
            if reason is None:
                reason = _write_manifest(repository, objects, outgoing, gate_of(repository, options.mode), manifests)
                has_secrets = has_secrets or reason is not None
            rows.append(_describe(repository, outgoing, reason))
            if options.with_sources and reason is None:
                names[conversation] = outgoing.name
        found, sources = bundle_sources(repository, objects, names, options.mode)
        has_secrets = has_secrets or any(each.status == "refused" for each in sources)
    size = None
    if manifests:
        try:
            with open_quarantine(repository.path, {**manifests, **found, **find_list(repository)}) as quarantine:
                pieces = _read_pieces(_run_git(quarantine, connection), gate_of(repository, options.mode))
                size = write_file(path, pieces, force=options.force, allowed=unless_pruned(repository, prunes))
        except ScopesError:
            prunes.require_none()  # git found no object any more
            raise
    refused = [row.conversation for row in rows if row.reason is not None and row.conversation is not None]
    unsure = find_unsure(repository, selection)
    notes = (*((_SECRETS,) if has_secrets else ()), *filter(None, [unsure]), *offers.notes(refused))
    return BundleCreated(path=path, conversations=tuple(rows), size_bytes=size, sources=sources, notes=notes)


def _write_manifest(
    repository: Repository, objects: Objects, outgoing: Outgoing, gate: Gate, manifests: dict[str, Oid]
) -> str | None:
    """Write the manifest of a conversation once a gate has cleared all of it; return why it may not leave."""
    try:
        cleared = clear_for_push(repository, objects, outgoing, gate)
    except SecretsFound as error:
        return error.message
    manifests[outgoing.name.ref] = outgoing.write(objects, cleared)
    return None


def _describe(repository: Repository, outgoing: Outgoing, reason: str | None) -> BundledConversation:
    title = outgoing.manifest.title or read_first_prompt(repository, outgoing.conversation)
    return BundledConversation(
        outgoing.conversation,
        outgoing.name.root,
        "included" if reason is None else "refused",
        title if reason is None else None,
        len(outgoing.manifest.branches),
        count_messages(repository, outgoing.manifest),
        reason,
    )


def _run_git(quarantine: Quarantine, connection: Connection) -> str:
    """Write a bundle of all refs of a quarantine into it, and return its path."""
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it writes bundles")
    made = os.path.join(quarantine.path, "bundle")
    options = [word for option in _OPTIONS for word in ("-c", option)]
    progress = "--progress" if connection.on_progress is not None else "--quiet"
    done = run_limited(
        [program, "--no-pager", *options, "bundle", "create", progress, made, "--all"],
        directory=quarantine.path,
        environment=git_environment(quarantine.path),
        limits=connection.limits,
        lock=quarantine.lock,
        on_progress=connection.on_progress,
    )
    if done.code != 0:
        raise Inaccessible(f"the bundle cannot be made: {describe_failure(done.errors)}", hint="check the disk's space")
    return made


def _read_pieces(path: str, gate: Gate) -> Iterator[Cleared]:
    """Yield the bundle in pieces; its content was cleared by a gate before it was packed."""
    with open(path, "rb") as file:
        while data := file.read(_PIECE):
            yield gate.clear_inspected(data)


def import_bundle(repository: Repository, path: str, selection: Selection, connection: Connection) -> Fetched:
    """Import the chosen conversations of a bundle, by default all, as `fetch` does from a remote.

    Raises:
        NotFound: there is no such file, or it has none of them.
        Corrupt: no conversation in it is acceptable, or it is no bundle.
        As `fetch`.
    """
    return fetch(repository, bundle_remote(path), selection, connection)


def verify_bundle(repository: Repository, path: str, connection: Connection) -> BundleVerified:
    """Check the whole bundle as `import_bundle` does, and return its conversations; nothing is imported.

    Raises:
        NotFound, Corrupt: there is no such file, or it is no bundle.
    """
    roots = list_roots(repository)
    rows: list[BundledConversation] = []
    with (
        unpacked(repository, bundle_remote(path, _NOBODY), connection, alone=True) as remote,
        quarantine_of(repository, knows_remotes=False) as quarantine,
        fetch_acceptable(repository, remote, connection, quarantine, [EVERYTHING_SPEC]) as (checked, incoming),
    ):
        received = ReceivedObjects(repository, checked)
        for name, newest in incoming.checked:
            known, manifest = roots.get(name.root), newest.manifest
            status: BundledStatus = "new" if known is None else "known"
            title = manifest.title or (None if known is None else read_first_prompt(repository, known))
            messages = count_messages(received, manifest)
            rows.append(BundledConversation(known, name.root, status, title, len(manifest.branches), messages))
        for ref, error in incoming.refused.items():
            if is_remote_ref(ref):
                root = parse_remote_ref(ref).root
                rows.append(BundledConversation(roots.get(root), root, "unacceptable", reason=error.message))
    notes = tuple(note_refused_sources(incoming.refused))
    return BundleVerified(path=path, conversations=tuple(rows), notes=notes)


def bundle_remote(path: str, name: str = BUNDLE) -> Remote:
    """Return a bundle as a remote.

    Raises:
        NotFound: there is no such file.
        Corrupt: it is no bundle.
    """
    if not os.path.isfile(path):
        raise NotFound(f"there is no file {path!a}", hint="check the path")
    if not is_bundle(path):
        raise Corrupt(f"{path!a} is not a bundle", hint="write one: scopes push FILE.bundle -a")
    return Remote(name, Address(path, "directory"))
