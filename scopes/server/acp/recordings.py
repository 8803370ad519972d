"""Where sessions of agents are in a store: which branch belongs to which agent, directory and session.

The entry of a branch says it, under the key `acp`: the agent's name, the real path of its directory, and the id of the
agent's session. Messages say which run of a session wrote them, so that two live sessions never mix on one branch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from scopes.clock import new_uuid, now, parse_time
from scopes.conversation.append import message_writers
from scopes.errors import Busy, Corrupt, NotFound
from scopes.history.handles import StoreHandle, next_conversation_id
from scopes.history.messages import is_root, message_id_of, read_body, read_message, write_root_commit
from scopes.history.metadata import read_metadata, read_metadata_at
from scopes.history.names import MAIN, list_branch_tips, list_latest, read_active_branch
from scopes.history.sources import read_purged
from scopes.history.transaction import Transaction, append_commit
from scopes.hosts.agents import target_named
from scopes.ids import AgentName, BranchName, ConversationId, Oid, free_name, slug
from scopes.importers.conversation_roots import list_conversation_roots
from scopes.model.conversation import ACP, BranchEntry, Root
from scopes.model.message import Message
from scopes.server.acp.branch_position import find_position
from scopes.server.acp.live_sessions import Holder, LiveSessions
from scopes.store import refs
from scopes.store.graph import walk_first_parents
from scopes.store.objects import read_commit
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_BRANCH_REASONS = {"session": "second live session", "fork": "fork of a session"}
_MAX_STALE = 20
_MAX_NEWER = 50  # commits that others may have written since a failed try
_TRIES = 5  # while other processes move the branch


class Identity(NamedTuple):
    """An agent in a directory: two agents in one directory, or one in two, never share a session."""

    agent: str
    cwd: str


class RecordedBranch(NamedTuple):
    """A branch at its tip; `session` is the agent's session that is known there."""

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    session: str | None = None
    cwd: str | None = None

    @property
    def name(self) -> str:
        """The conversation and the branch, as users name them."""
        return f"{self.conversation}/{self.branch}"

    def find_tip(self, repository: Repository) -> Oid | None:
        """Return where the branch is now; None if it is gone."""
        found = repository.find_ref(refs.branch_ref(self.conversation, self.branch))
        return None if found is None else Oid(found)

    def moved_on(self, repository: Repository, end: RecordedBranch) -> RecordedBranch:
        """Return the branch at the end of a session that went on from here; as it is if that was elsewhere."""
        is_same = (self.conversation, self.branch) == (end.conversation, end.branch)
        return self._replace(tip=end.tip) if is_same and self.tip in walk_first_parents(repository, end.tip) else self


_Found: TypeAlias = tuple[RecordedBranch, Mapping[str, Any]]  # a branch, and its entry


class CurrentBranch(NamedTuple):
    """A recorded branch as it is now.

    recorded: its name now, at the newest commit that the session knows. is_other: another session has written since.
    """

    recorded: RecordedBranch
    tip: Oid
    is_other: bool


class _BranchMoved(Exception):
    """Another process has moved the branch in this moment."""


def identity_of(agent: str, cwd: object) -> Identity:
    """Return the identity of an agent in a directory; links and trailing slashes make no difference."""
    return Identity(agent, real_directory(cwd))


def real_directory(cwd: object) -> str:
    """Return the real path of a directory that an editor has named; empty for what no path can be."""
    try:
        return os.path.realpath(cwd) if isinstance(cwd, str) and cwd else ""
    except ValueError:  # it has a NUL, or half of a surrogate pair
        return ""


def find_newest(repository: Repository, identity: Identity) -> RecordedBranch | None:
    """Return the branch of the newest conversation of an agent and a directory; None if there is none.

    It is the newest branch that the agent wrote, unless another branch of the user's was made the active one.
    """
    for conversation, found in _walk_conversations(repository) if identity.cwd else ():
        branches = [recorded for recorded, entry in found if _matches(entry, identity)]
        if branches:
            active = read_active_branch(repository, conversation)
            if ACP not in StoreHandle(repository).conversation(conversation).branch(active).entry.extra:
                return RecordedBranch(conversation, active, list_branch_tips(repository, conversation)[active])
            return max(branches, key=lambda recorded: _written(repository, recorded))
    return None


def _written(repository: Repository, recorded: RecordedBranch) -> int:
    """Return when the last message of a branch was written; commits have whole seconds only."""
    return parse_time(read_body(repository, read_commit(repository, recorded.tip)).time or "") or 0


def find_session(repository: Repository, agent: str, session: str) -> RecordedBranch | None:
    """Return the branch that an agent's session was recorded on, the newest one; None if there is none.

    The session may be an earlier one of the branch.
    """
    for _, found in _walk_conversations(repository):
        for recorded, entry in found:
            if entry.get("agent") == agent and session in {recorded.session, *_stale_of(entry)}:
                return recorded
    return None


def names_of(repository: Repository, recorded: RecordedBranch) -> tuple[str, ...]:
    """Return what `LiveSessions` calls a branch: its session, of whatever agent, or its own name if it has none."""
    entry = _session_entry(StoreHandle(repository).conversation(recorded.conversation).branch(recorded.branch).entry)
    match entry:
        case {"agent": str(agent), "session": str(session)}:
            return agent, session
    return recorded.conversation, recorded.branch


def list_session_branches(repository: Repository, agent: str, session: str) -> list[RecordedBranch]:
    """Return the branches that an agent's session, or an earlier one that it continued, was recorded on."""
    return [
        recorded
        for _, found in _walk_conversations(repository)
        for recorded, entry in found
        if entry.get("agent") == agent and session in {recorded.session, *_stale_of(entry)}
    ]


def list_sessions(repository: Repository, agent: str, cwd: str | None = None) -> Iterator[RecordedBranch]:
    """Yield the branches with a session of an agent, newest conversation first."""
    directory = None if cwd is None else real_directory(cwd)
    for _, found in _walk_conversations(repository):
        for recorded, entry in found:
            known = entry.get("agent") == agent and (directory is None or entry.get("cwd") == directory)
            if known and recorded.session is not None:
                yield recorded


def find_named(repository: Repository, text: str, identity: Identity) -> RecordedBranch:
    """Return the branch that a user named, with the agent's session there if it is the same agent and directory.

    Raises:
        NotFound, Ambiguous, Invalid: the conversation or branch cannot be resolved.
    """
    name, _, branch = text.partition("/")
    handle = StoreHandle(repository).conversation(name).branch(branch or None)
    entry = _session_entry(handle.entry)
    session = entry.get("session") if _matches(entry, identity) else None
    return RecordedBranch(
        handle.conversation.id, handle.name, handle.tip, session if isinstance(session, str) else None
    )


def _walk_conversations(repository: Repository) -> Iterator[tuple[ConversationId, list[_Found]]]:
    """Yield the conversations with sessions of agents, newest first, with the branches that have one."""
    metadata = repository.list_refs(refs.META)
    for conversation in list_latest(repository, _list_live(repository)):
        value = metadata.get(refs.meta_ref(conversation))
        found = [] if value is None else _find_branches(repository, conversation, Oid(value))
        if found:
            yield conversation, found


def _list_live(repository: Repository) -> set[ConversationId] | None:
    """Return the conversations that were recorded live; None if they must be looked for among all.

    The index knows them: an editor waits while a session is opened.
    """
    try:
        return list_conversation_roots(repository, repository.caller.index_directory).live
    except (Corrupt, NotFound):  # of one that is damaged; the others are found
        return None


def _find_branches(repository: Repository, conversation: ConversationId, metadata: Oid) -> list[_Found]:
    try:
        branches = read_metadata_at(repository, metadata).branches
    except (Corrupt, NotFound):
        return []
    entries = {name: _session_entry(entry) for name, entry in branches.items() if not entry.is_hidden}
    if not any(entries.values()):
        return []
    tips = list_branch_tips(repository, conversation)
    return [
        (_recorded_branch(conversation, name, tips[name], entry), entry)
        for name, entry in entries.items()
        if entry and name in tips
    ]


def _recorded_branch(
    conversation: ConversationId, branch: BranchName, tip: Oid, entry: Mapping[str, Any]
) -> RecordedBranch:
    session, cwd = entry.get("session"), entry.get("cwd")
    known = session if isinstance(session, str) else None, cwd if isinstance(cwd, str) else None
    return RecordedBranch(conversation, branch, tip, *known)


def _session_entry(entry: BranchEntry) -> Mapping[str, Any]:
    found = entry.extra.get(ACP)
    return found if isinstance(found, dict) else {}


def _stale_of(entry: Mapping[str, Any]) -> list[str]:
    stale = entry.get("stale")
    return [each for each in stale if isinstance(each, str)] if isinstance(stale, list) else []


def _matches(entry: Mapping[str, Any], identity: Identity) -> bool:
    return entry.get("agent") == identity.agent and entry.get("cwd") == identity.cwd


def find_current(
    repository: Repository, identity: Identity, session: str, recorded: RecordedBranch, run: str
) -> CurrentBranch | None:
    """Return where a recorded branch is now, also if it was renamed or moved; None if it was deleted.

    session: the one in the entry of the branch, if `recorded` does not say it; a branch that was renamed keeps it.
    """
    found = _at_position(repository, recorded, recorded.tip, run)
    if found is not None:
        return found
    noted = recorded.session or session
    branches = (each for each in list_session_branches(repository, identity.agent, noted) if each.session == noted)
    positions = (_at_position(repository, branch, recorded.tip, run) for branch in branches)
    return next(filter(None, positions), None)


def _at_position(repository: Repository, branch: RecordedBranch, last: Oid, run: str) -> CurrentBranch | None:
    tip = branch.find_tip(repository)
    position = None if tip is None else find_position(repository, tip, last, run)
    if tip is None or position is None:
        return None
    return CurrentBranch(branch._replace(tip=position.known), tip, position.is_other)


class SessionWriter:
    """Writes the messages of one session to its branch; the first one creates the conversation if there is none.

    `run` tells this session from others of the same agent: they continue on another branch. So does a fork of a
    session, from its first message on.
    """

    def __init__(
        self,
        store: Repository | Callable[[], Repository],
        identity: Identity,
        session: str,
        run: str,
        recorded: RecordedBranch | None,
        *,
        forked: str | None = None,
        is_noted: bool = False,
        live: LiveSessions | None = None,
    ) -> None:
        self._live = live
        self._open_store = store if callable(store) else lambda: store
        self.identity = identity
        self.session = session
        self.run = run
        self.forked = forked  # the session that this one is a fork of, until it has a branch of its own
        self._recorded = recorded
        self._is_noted = is_noted  # in the entry of the branch
        self.is_unreadable = False  # the branch, when the last message was to be written
        self._tried: str | None = None  # the last message; it may be written although an error says that it is not

    @property
    def repository(self) -> Repository:
        """The store, which is opened when it is needed: it may not be possible yet.

        Raises:
            ScopesError, OSError: it cannot be opened.
        """
        return self._open_store()

    def begin_at(self, recorded: RecordedBranch | None) -> None:
        """Go on from a branch, unless a message was written already."""
        if not self._is_noted and self._recorded is None:
            self._recorded = recorded

    @property
    def recorded(self) -> RecordedBranch | None:
        """The branch at the last message; None before the first one of a new conversation."""
        return self._recorded

    def append(self, message: Message) -> RecordedBranch:
        """Write a message and return the branch at its commit.

        Raises:
            Invalid: the message is too large or too deep.
            Busy, Inaccessible, ...: nothing was written.
        """
        if self._live is not None:  # before other proxies can find the session in the entry of a branch
            with suppress(Holder):  # the editor has opened it twice: each proxy has a branch
                self._live.hold(self.repository.path, self.identity.agent, self.session)
        is_repeated, self._tried, self.is_unreadable = self._tried == message.id, message.id, False
        written = self._find_written(message) if is_repeated else None
        if written is not None:
            self._recorded, self._is_noted = written, True
            return written
        for _ in range(_TRIES):
            with suppress(_BranchMoved, NotFound):
                return self._append_now(message)
        try:
            return self._append_now(message)
        except _BranchMoved as error:
            raise Busy("other processes move the branch of the session", hint="try again in a moment") from error

    def leave_branch(self) -> None:
        """Go on in a conversation of its own: the branch cannot be read."""
        self._recorded, self.forked, self._is_noted, self.is_unreadable = None, None, False, False

    @contextmanager
    def _reading_branch(self) -> Iterator[None]:
        try:
            yield
        except (Corrupt, NotFound):
            self.is_unreadable = True
            raise

    def _append_now(self, message: Message) -> RecordedBranch:
        """Write a message where the branch is now, or on a branch of its own if another session has written there.

        Raises:
            _BranchMoved, NotFound: it was moved or deleted meanwhile; nothing was written.
        """
        current = None
        if self._recorded is not None:
            with self._reading_branch():
                current = find_current(self.repository, self.identity, self.session, self._recorded, self.run)
        if current is None:
            self._recorded = self._create(message)
            return self._recorded
        where, tip = current.recorded, current.tip
        reason = "fork" if self.forked is not None else "session" if current.is_other else None
        if reason is not None:
            where = self._branch_off(where, reason)
            tip = where.tip
        elif not self._is_noted:
            self._note_session(where)
            where = where._replace(session=self.session)
        self._recorded, self._is_noted, self.forked = where, True, None
        self._recorded = self._append(where, tip, message)
        return self._recorded

    def _find_written(self, message: Message) -> RecordedBranch | None:
        """Return the branch at a message that was written, although the disk failed then; None if it was not."""
        known = [self._recorded] if self._recorded is not None else []
        with suppress(NotFound, Corrupt):  # of a branch that cannot be read
            branches = list_session_branches(self.repository, self.identity.agent, self.session)
            for branch in [*branches, *known]:
                tip = branch.find_tip(self.repository)
                for commit in islice(walk_first_parents(self.repository, tip), _MAX_NEWER) if tip is not None else ():
                    if message_id_of(read_commit(self.repository, commit)) == message.id:
                        return branch._replace(tip=commit)
        return None

    def _append(self, recorded: RecordedBranch, expected: Oid, message: Message) -> RecordedBranch:
        [write] = message_writers(self.repository, recorded.conversation, [message])

        def write_on(tip: Oid) -> Oid:
            if tip != expected:
                raise _BranchMoved
            with self._reading_branch():
                return write(tip)

        oid = append_commit(self.repository, recorded.conversation, recorded.branch, message.id, write_on)
        return recorded._replace(tip=oid)

    def _list_turn(self, answer: Message) -> list[Message]:
        """Return the messages of the turn of an answer that were written where nobody finds them any more.

        The conversation, or the branch, was deleted in the turn. Without the prompt the answer would begin the new one.
        What was purged meanwhile does not come back, also if an open file still has it. Call it under the lock.
        """
        found: list[Message] = []
        if self._recorded is None or answer.reply_to is None:
            return found
        purged, is_whole = read_purged(self.repository), False
        with suppress(NotFound, Corrupt):  # purged
            for oid in walk_first_parents(self.repository, self._recorded.tip):
                commit = read_commit(self.repository, oid)
                if is_root(commit):
                    return [] if purged.has_conversation(oid) or not is_whole else found[::-1]
                if not is_whole and not purged.has_message(message_id_of(commit)):
                    found.append(read_message(self.repository, oid))
                is_whole = is_whole or message_id_of(commit) == answer.reply_to
        return []

    def _create(self, message: Message) -> RecordedBranch:
        """Create the conversation with its first message, and what there is of the turn, as one operation."""
        repository, identity = self.repository, self.identity
        created = now()
        root = Root(new_uuid(), created, format=ACP, native_id=self.session, cwd=identity.cwd)
        with exclusive_write(repository):
            conversation = next_conversation_id(repository)
            tip = commit = write_root_commit(repository, root, {identity.agent: "agent"})
            for write in message_writers(repository, conversation, [*self._list_turn(message), message]):
                tip = write(tip)
            tx = Transaction(repository, conversation)
            tx.create_branch(MAIN, tip)
            tx.set_branch_entry(MAIN, self._entry(BranchEntry(fork=commit, created=created)))
            tx.set_directory(identity.cwd)
            tx.activate(MAIN)
            tx.commit("acp", f"record a session of {identity.agent} as {conversation}")
        self._is_noted, self.forked = True, None
        return RecordedBranch(conversation, MAIN, tip, self.session, identity.cwd)

    def _entry(self, entry: BranchEntry) -> BranchEntry:
        """Return an entry of a branch with this session; an earlier one of the same agent becomes stale (S3-17)."""
        before = _session_entry(entry)
        stale = [each for each in _stale_of(before) if each != self.session]
        earlier = before.get("session")
        if isinstance(earlier, str) and earlier != self.session:
            stale.append(earlier)
        found: dict[str, Any] = {"agent": self.identity.agent, "cwd": self.identity.cwd, "session": self.session}
        if stale:
            found["stale"] = stale[-_MAX_STALE:]
        agent = entry.agent or AgentName(self.identity.agent)
        return replace(entry, agent=agent, extra={**entry.extra, ACP: found})

    def _note_session(self, recorded: RecordedBranch) -> None:
        """Write into the entry of the branch that this session continues it; another one may have done so already."""
        repository = self.repository
        before = read_metadata(repository, recorded.conversation).branches.get(
            recorded.branch, BranchEntry(created=now())
        )
        after = self._entry(before)
        if after != before:
            with exclusive_write(repository):
                before = read_metadata(repository, recorded.conversation).branches.get(recorded.branch, before)
                tx = Transaction(repository, recorded.conversation)
                tx.set_branch_entry(recorded.branch, self._entry(before))
                tx.commit("acp", f"continue {recorded.conversation}/{recorded.branch} with {self.identity.agent}")

    def _branch_off(self, recorded: RecordedBranch, prefix: str) -> RecordedBranch:
        """Create a branch of this session at its last message: another session goes on from there, or has already."""
        repository, conversation = self.repository, recorded.conversation
        with exclusive_write(repository):
            name = f"{prefix}/{slug(target_named(self.identity.agent))}"
            branch = BranchName(free_name(name, list_branch_tips(repository, conversation)))
            entry = BranchEntry(parent=recorded.branch, fork=recorded.tip, created=now())
            tx = Transaction(repository, conversation)
            tx.create_branch(branch, recorded.tip)
            tx.set_branch_entry(branch, self._entry(entry))
            tx.commit("acp", f"continue a {_BRANCH_REASONS[prefix]} as {conversation}/{branch}")
        return recorded._replace(branch=branch, session=self.session)

    def follow(self, end: RecordedBranch) -> None:
        """Go on where an earlier run of this session ended, unless a message was written already."""
        if self._recorded is not None and not self._is_noted:
            self._recorded = self._recorded.moved_on(self.repository, end)

    def set_title(self, title: str) -> None:
        """Set the title of the conversation, unless it has one."""
        recorded, repository = self._recorded, self.repository
        if recorded is None or not title.strip() or recorded.find_tip(repository) is None:
            return
        if read_metadata(repository, recorded.conversation).title is not None:
            return
        with exclusive_write(repository):
            tx = Transaction(repository, recorded.conversation)
            tx.set_title(" ".join(title.split()))
            tx.commit("acp", f"title of {recorded.conversation} from {self.identity.agent}")
