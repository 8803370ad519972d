"""Where sessions of agents are in a store: which branch belongs to which agent, directory and session.

The entry of a branch says it, under the key `acp`: the agent's name, the real path of its directory, and the id of the
agent's session. Messages say which run of a session wrote them, so that two live sessions never mix on one branch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from scopes.clock import new_uuid, now, parse_time
from scopes.conversation.append import keep_digests, message_writers
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import next_conversation_id
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_body, write_root_commit
from scopes.history.metadata import read_metadata, read_metadata_at
from scopes.history.revisions import MAIN, list_branch_tips, list_latest, read_active_branch
from scopes.history.transaction import Transaction, append_commit
from scopes.ids import AgentName, BranchName, ConversationId, Oid, free_name, slug
from scopes.importers.conversation_roots import list_conversation_roots
from scopes.model.conversation import BranchEntry, Root
from scopes.model.message import Message
from scopes.store import refs
from scopes.store.repository import Repository, read_commit
from scopes.store.transactions import exclusive_write

FORMAT = "acp"
KEY = "acp"  # of the entry of a branch, and of a message
_MAX_STALE = 20
_MAX_STEPS = 1000  # commits that are searched for another session


class Identity(NamedTuple):
    """An agent in a directory: two agents in one directory, or one in two, never share a session."""

    agent: str
    cwd: str


class Place(NamedTuple):
    """A branch at its tip; `session` is the agent's session that is known there."""

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    session: str | None = None
    cwd: str | None = None


_Found: TypeAlias = tuple[Place, Mapping[str, Any]]  # a branch, and its entry


class TipMoved(Exception):
    """Another session of an agent has written to the branch since."""


def identity_of(agent: str, cwd: object) -> Identity:
    """Return the identity of an agent in a directory; links and trailing slashes make no difference."""
    return Identity(agent, real_directory(cwd))


def real_directory(cwd: object) -> str:
    """Return the real path of a directory that an editor has named; empty for what no path can be."""
    try:
        return os.path.realpath(cwd) if isinstance(cwd, str) and cwd else ""
    except ValueError:  # it has a NUL, or half of a surrogate pair
        return ""


def find_newest(repository: Repository, identity: Identity) -> Place | None:
    """Return the branch of the newest conversation of an agent and a directory; None if there is none.

    It is the newest branch that the agent wrote, unless another branch of the user's was made the active one.
    """
    for conversation, found in _walk_conversations(repository) if identity.cwd else ():
        places = [place for place, entry in found if _matches(entry, identity)]
        if places:
            active = read_active_branch(repository, conversation)
            if KEY not in StoreHandle(repository).conversation(conversation).branch(active).entry.extra:
                return Place(conversation, active, list_branch_tips(repository, conversation)[active])
            return max(places, key=lambda place: _written(repository, place))
    return None


def _written(repository: Repository, place: Place) -> int:
    """Return when the last message of a branch was written; commits have whole seconds only."""
    return parse_time(read_body(repository, read_commit(repository, place.tip)).time or "") or 0


def find_session(repository: Repository, agent: str, session: str) -> Place | None:
    """Return the branch that an agent's session was recorded on, the newest one; None if there is none.

    The session may be an earlier one of the branch.
    """
    for _, found in _walk_conversations(repository):
        for place, entry in found:
            if entry.get("agent") == agent and session in {place.session, *_stale_of(entry)}:
                return place
    return None


def list_sessions(repository: Repository, agent: str, cwd: str | None = None) -> Iterator[Place]:
    """Yield the branches with a session of an agent, newest conversation first."""
    directory = None if cwd is None else real_directory(cwd)
    for _, found in _walk_conversations(repository):
        for place, entry in found:
            known = entry.get("agent") == agent and (directory is None or entry.get("cwd") == directory)
            if known and place.session is not None:
                yield place


def find_named(repository: Repository, text: str, identity: Identity) -> Place:
    """Return the branch that a user named, with the agent's session there if it is the same agent and directory.

    Raises:
        NotFound, Ambiguous, Invalid: the conversation or branch cannot be resolved.
    """
    name, _, branch = text.partition("/")
    handle = StoreHandle(repository).conversation(name).branch(branch or None)
    entry = _session_entry(handle.entry)
    session = entry.get("session") if _matches(entry, identity) else None
    return Place(handle.conversation.id, handle.name, handle.tip, session if isinstance(session, str) else None)


def _walk_conversations(repository: Repository) -> Iterator[tuple[ConversationId, list[_Found]]]:
    """Yield the conversations with sessions of agents, newest first, with the branches that have one."""
    metadata = repository.list_refs(refs.META)
    for conversation in list_latest(repository, _list_live(repository)):
        value = metadata.get(refs.meta_ref(conversation))
        found = [] if value is None else _find_places(repository, conversation, Oid(value))
        if found:
            yield conversation, found


def _list_live(repository: Repository) -> set[ConversationId] | None:
    """Return the conversations that were recorded live; None if they must be looked for among all.

    The index knows them: an editor waits while a session is opened.
    """
    try:
        return list_conversation_roots(repository, repository.index_directory).live
    except (Corrupt, NotFound):  # of one that is damaged; the others are found
        return None


def _find_places(repository: Repository, conversation: ConversationId, metadata: Oid) -> list[_Found]:
    try:
        branches = read_metadata_at(repository, metadata).branches
    except (Corrupt, NotFound):
        return []
    entries = {name: _session_entry(entry) for name, entry in branches.items() if not entry.is_hidden}
    if not any(entries.values()):
        return []
    tips = list_branch_tips(repository, conversation)
    return [
        (_place(conversation, name, tips[name], entry), entry)
        for name, entry in entries.items()
        if entry and name in tips
    ]


def _place(conversation: ConversationId, branch: BranchName, tip: Oid, entry: Mapping[str, Any]) -> Place:
    session, cwd = entry.get("session"), entry.get("cwd")
    known = session if isinstance(session, str) else None, cwd if isinstance(cwd, str) else None
    return Place(conversation, branch, tip, *known)


def _session_entry(entry: BranchEntry) -> Mapping[str, Any]:
    found = entry.extra.get(KEY)
    return found if isinstance(found, dict) else {}


def _stale_of(entry: Mapping[str, Any]) -> list[str]:
    stale = entry.get("stale")
    return [each for each in stale if isinstance(each, str)] if isinstance(stale, list) else []


def _matches(entry: Mapping[str, Any], identity: Identity) -> bool:
    return entry.get("agent") == identity.agent and entry.get("cwd") == identity.cwd


class SessionWriter:
    """Writes the messages of one session to its branch; the first one creates the conversation if there is none.

    `run` tells this session from others of the same agent: they continue on another branch.
    """

    def __init__(self, repository: Repository, identity: Identity, session: str, run: str, place: Place | None) -> None:
        self._repository = repository
        self._identity = identity
        self._session = session
        self._run = run
        self._place = place
        self._is_noted = False

    @property
    def place(self) -> Place | None:
        """The branch at the last message; None before the first one of a new conversation."""
        return self._place

    def append(self, message: Message) -> Place:
        """Write a message and return the branch at its commit.

        Raises:
            Invalid: the message is too large or too deep.
            Busy, Inaccessible, ...: nothing was written.
        """
        if self._place is None:
            self._place = self._create(message)
            return self._place
        try:
            if not self._is_noted:
                self._note_session(self._place)
            self._place = self._append(self._place, message)
        except TipMoved:
            self._place = self._append(self._fork(self._place), message)
        except NotFound:  # the branch was deleted meanwhile
            if not is_deleted(self._repository, self._place):
                raise
            self._place = self._create(message)
        return self._place

    def _append(self, place: Place, message: Message) -> Place:
        [write] = message_writers(self._repository, place.conversation, [message])

        def write_on(tip: Oid) -> Oid:
            if tip != place.tip and self._has_other_session(tip, place.tip):
                raise TipMoved
            return write(tip)

        oid = append_commit(self._repository, place.conversation, place.branch, message.id, write_on)
        keep_digests(self._repository, place.conversation, [oid])
        return place._replace(tip=oid)

    def _has_other_session(self, tip: Oid, last: Oid) -> bool:
        """Return True if another session has written a message between `last` and a tip."""
        for commit in islice(_walk_first_parents(self._repository, tip), _MAX_STEPS):
            if commit == last:
                return False
            found = read_body(self._repository, read_commit(self._repository, commit)).extra.get(KEY)
            run = found.get("run") if isinstance(found, dict) else None
            if isinstance(run, str) and run != self._run:
                return True
        return False

    def _create(self, message: Message) -> Place:
        """Create the conversation with its first message, as one operation."""
        repository, identity = self._repository, self._identity
        created = now()
        root = Root(new_uuid(), created, format=FORMAT, native_id=self._session, cwd=identity.cwd)
        commit = write_root_commit(repository, root, {identity.agent: "agent"})
        with exclusive_write(repository):
            conversation = next_conversation_id(repository)
            [write] = message_writers(repository, conversation, [message])
            tip = write(commit)
            tx = Transaction(repository, conversation)
            tx.create_branch(MAIN, tip)
            tx.set_branch_entry(MAIN, self._entry(BranchEntry(fork=commit, created=created)))
            tx.set_directory(identity.cwd)
            tx.activate(MAIN)
            tx.commit("acp", f"record a session of {identity.agent} as {conversation}")
        self._is_noted = True
        return Place(conversation, MAIN, tip, self._session, identity.cwd)

    def _entry(self, entry: BranchEntry) -> BranchEntry:
        """Return an entry of a branch with this session; an earlier one of the same agent becomes stale (S3-17)."""
        before = _session_entry(entry)
        stale = [each for each in _stale_of(before) if each != self._session]
        earlier = before.get("session")
        if isinstance(earlier, str) and earlier != self._session:
            stale.append(earlier)
        found: dict[str, Any] = {"agent": self._identity.agent, "cwd": self._identity.cwd, "session": self._session}
        if stale:
            found["stale"] = stale[-_MAX_STALE:]
        agent = entry.agent or AgentName(self._identity.agent)
        return replace(entry, agent=agent, extra={**entry.extra, KEY: found})

    def _note_session(self, place: Place) -> None:
        """Write into the entry of the branch that this session continues it."""
        repository = self._repository
        before = read_metadata(repository, place.conversation).branches.get(place.branch, BranchEntry(created=now()))
        after = self._entry(before)
        if after != before:
            with exclusive_write(repository):
                before = read_metadata(repository, place.conversation).branches.get(place.branch, before)
                tx = Transaction(repository, place.conversation)
                tx.set_branch_entry(place.branch, self._entry(before))
                tx.commit("acp", f"continue {place.conversation}/{place.branch} with {self._identity.agent}")
        self._is_noted = True

    def _fork(self, place: Place) -> Place:
        """Create a branch at the last message of this session: another session has gone on from there."""
        repository, conversation = self._repository, place.conversation
        with exclusive_write(repository):
            name = f"session/{slug(self._identity.agent)}"
            branch = BranchName(free_name(name, list_branch_tips(repository, conversation)))
            entry = BranchEntry(parent=place.branch, fork=place.tip, created=now())
            tx = Transaction(repository, conversation)
            tx.create_branch(branch, place.tip)
            tx.set_branch_entry(branch, self._entry(entry))
            tx.commit("acp", f"continue a second live session as {conversation}/{branch}")
        return place._replace(branch=branch)

    def set_title(self, title: str) -> None:
        """Set the title of the conversation, unless it has one."""
        place, repository = self._place, self._repository
        if place is None or not title.strip() or read_metadata(repository, place.conversation).title is not None:
            return
        with exclusive_write(repository):
            tx = Transaction(repository, place.conversation)
            tx.set_title(" ".join(title.split()))
            tx.commit("acp", f"title of {place.conversation} from {self._identity.agent}")


def _walk_first_parents(repository: Repository, tip: Oid) -> Iterator[Oid]:
    """Yield commits from a tip back to the root."""
    next_oid: Oid | None = tip
    while next_oid is not None:
        yield next_oid
        parents = read_commit(repository, next_oid).parents
        next_oid = parents[0] if parents else None


def is_deleted(repository: Repository, place: Place) -> bool:
    """Return True if a branch no longer exists."""
    return repository.find_ref(refs.branch_ref(place.conversation, place.branch)) is None
