"""A store with the operations as methods; each one calls the operation that the command line calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from scopes.api.conversation import Branch, Conversation
from scopes.clock import now_nanoseconds, parse_window
from scopes.conversation.conflicts import list_conflicts
from scopes.conversation.list import ConversationList, list_conversations
from scopes.conversation.merge import list_merge_requests
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import MessageView, cat
from scopes.conversation.undo import Undone, redo, undo
from scopes.history.handles import StoreHandle
from scopes.history.messages import check_author, default_author
from scopes.history.names import conversation_ids, resolve_branch, resolve_conversation
from scopes.history.transaction import show_past
from scopes.ids import ConversationId
from scopes.model.message import Author
from scopes.result import Note
from scopes.store.config import Setting, environment_settings
from scopes.store.projects import cache_directory, choose_store, index_directory
from scopes.store.repository import Caller, create_store, open_repository

if TYPE_CHECKING:
    import scopes
    from scopes.importers.results import Skipped
    from scopes.usage.usage import By


def open_store(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = False,
    author: Author | str | None = None,
    settings: Mapping[str, str] | None = None,
    at_operation: str | None = None,
) -> Store:
    """Open a store: the one at `path`, or the one that the command line would use in the current directory.

    The configuration is that of the command line: the files of git, then variables such as SCOPES_DURABILITY. Close the
    store when it is no longer needed, or use it in a `with` statement.

    create: make the store if it does not exist.
    author: the default author of messages and the actor in operation records: an `Author`, or the name of a human;
        default: the human in the setting `scopes.author`, else in git's `user.name`, or `user`.
    settings: values that override the configuration, such as `{"scopes.durability": "fast"}`.
    at_operation: show the store as it was after an operation: its id or a unique prefix, `@` for the newest one, `@-`
        or `@{2}` for those before it; or at a time, such as `2 hours ago`. A method that writes raises Refused. `notes`
        of the store has a note if the time is before its first operation.

    Raises:
        NotFound, Ambiguous: there is no store, or no such operation, or several operations have this prefix.
        Corrupt, TooNew, Inaccessible: it cannot be read.

    >>> scopes.open_store("talks.git", create=True, author="alice").path
    """
    given = None if path is None else os.fspath(path)
    is_known = given is not None and os.path.isabs(given)  # then the current directory may have been deleted
    found = choose_store(os.environ, os.sep if is_known else os.getcwd(), given)
    if create:
        create_store(found)
    overrides = environment_settings(os.environ)
    overrides |= {key.lower(): Setting(key, value, "program") for key, value in (settings or {}).items()}
    repository = open_repository(found, overrides)
    given_author = Author(author, "human") if isinstance(author, str) else author
    default = default_author(repository.config) if given_author is None else check_author(given_author)
    repository.caller = Caller(
        actor=default.name,
        command=os.path.basename(sys.argv[0] or "python"),
        index_directory=index_directory(cache_directory(os.environ), found),
    )
    note = None if at_operation is None else show_past(repository, at_operation)
    return Store(repository, default, () if note is None else (note,))


@dataclass(frozen=True, slots=True)
class Store(StoreHandle):
    """A store with the operations as methods; `author` is the default author of messages.

    `notes` are warnings about how it was opened: nothing was in it at the time `at_operation`.

    A store may be kept open, and it must not be shared by threads. Agents are named by name, number, or a unique prefix
    of the name. In the examples, `store` is an open store.
    """

    author: Author
    notes: tuple[Note, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of the store; a later call opens them again. Every change is on disk already.

        >>> store.close()
        """
        self.repository.close()

    @property
    def path(self) -> str:
        """The directory of the store."""
        return self.repository.path

    def list(self) -> ConversationList:
        """Return a row for every conversation, as `scopes list` does, the most recently active first.

        A row has title, participants, branches and times; use `conversations` to read or change conversations.

        >>> [row.title for row in store.list().conversations]
        """
        return list_conversations(self.repository, self._index_directory)

    def conversations(self) -> Sequence[Conversation]:
        """Return a handle of every conversation, sorted by id.

        >>> [each.id for each in store.conversations()]
        """
        return [self._handle(conversation_id) for conversation_id in conversation_ids(self.repository)]

    def conversation(self, text: str) -> Conversation:
        """Return a conversation by its id or a unique prefix.

        >>> store.conversation("conv-001").title
        """
        return self._handle(resolve_conversation(self.repository, text))

    def branch(self, conversation: str, branch: str | None = None) -> Branch:
        """Return a branch of a conversation (default: the active one); `conversation` may also be `CONV/BRANCH`.

        >>> store.branch("conv-001/try").tip
        """
        conversation_id, name = resolve_branch(self.repository, conversation, branch)
        return Branch(self._handle(conversation_id), name)

    def _handle(self, conversation_id: ConversationId) -> Conversation:
        return Conversation(self.repository, conversation_id, self.author)

    @property
    def _index_directory(self) -> str:
        return index_directory(cache_directory(os.environ), self.path)

    def new(
        self,
        title: str | None = None,
        *,
        id: str | None = None,  # noqa: A002
        participants: Iterable[str] = (),
    ) -> Conversation:
        """Create a conversation with the branch `main`; without `id` it gets the next number.

        >>> store.new("Login fails on Safari").id
        """
        created = new(self.repository, conversation_id=id, title=title, participants=participants)
        return self._handle(created.id)

    def message(self, name: str) -> MessageView:
        """Return a message by id, unique prefix, tag or revision (`conv-001/main~2`).

        >>> store.message("conv-001/main~2").message.text
        """
        return cat(self.repository, name)

    def search(
        self, query: str, *, conversation: str | None = None, limit: int = 20, newest_first: bool = False
    ) -> scopes.Search:
        """Find messages by words and fields; the query language is that of `scopes search`.

        >>> [hit.head.subject for hit in store.search("cookie", limit=5).items if hasattr(hit, "head")]
        """
        from scopes.search.run import search

        return search(
            self.repository, query, index_directory=self._index_directory, conversation=conversation, limit=limit,
            newest_first=newest_first,
        )  # fmt: skip

    def merge_requests(self, *, state: str | None = None) -> scopes.MergeRequestList:
        """Return the merge requests of all conversations, as `Conversation.merge_requests` does for one.

        >>> [row.request.title for row in store.merge_requests(state="open").merge_requests]
        """
        return list_merge_requests(self.repository, state=state)

    def conflicts(self, *, status: str | None = None, include_all: bool = False) -> scopes.ConflictList:
        """Return the open conflicts of all conversations, as `Conversation.conflicts` does for one.

        >>> [row.conflict.key for row in store.conflicts().conflicts]
        """
        return list_conflicts(self.repository, status=status, include_all=include_all)

    def usage(
        self,
        by: By | Sequence[By] = "day",
        *,
        conversations: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        model: str | None = None,
        agent: str | None = None,
        prices: str | os.PathLike[str] | None = None,
    ) -> scopes.Usage:
        """Return the tokens and the cost of model answers, each answer once, as `scopes usage` shows them.

        by: what the rows are for: `day`, `week`, `month`, `model`, `agent`, `project`, `conversation`, or several of
            them, of which one may be a period. An answer that several conversations have counts for the first.
        conversations: only these; default: all.
        since, until: times such as `1 week ago` or `2026-01-31`, days in the time zone of this machine.
        model, agent: only answers by a model or agent whose name has this in it.
        prices: a file with prices; default: the setting `scopes.prices`, or the table that comes with scopes.

        >>> store.usage(["month", "model"], since="2026-01-01").total.cost_micros
        """
        from scopes.usage.prices import configured_prices, read_prices
        from scopes.usage.usage import UsageRequest, usage

        start, end = parse_window(since, until, now_nanoseconds())
        table = configured_prices(self.repository.config) if prices is None else read_prices(os.fspath(prices))
        groups = (by,) if isinstance(by, str) else tuple(by)
        chosen = None if conversations is None else tuple(conversations)
        request = UsageRequest(groups, start, end, chosen, model=model, agent=agent)
        return usage(self.repository, request, table)

    def import_file(
        self, path: str | os.PathLike[str], *, dry_run: bool = False, strict: bool = False, join: bool = True
    ) -> scopes.Imported:
        """Import a transcript, or every transcript below a directory; what is already stored is not imported again.

        join: a copy of another session, continued differently, becomes a branch of that conversation.

        >>> [row.new_messages for row in store.import_file("run.jsonl").conversations]
        """
        from scopes.importers.discovery import find_sources
        from scopes.importers.formats.registry import FORMATS
        from scopes.importers.import_sources import ImportOptions, import_sources

        skipped: list[Skipped] = []
        sources = find_sources(os.fspath(path), skipped)
        options = ImportOptions(dry_run=dry_run, strict=strict, join=join)
        index = None if dry_run else self._index_directory
        return import_sources(self.repository, sources, FORMATS, options, skipped=tuple(skipped), index_directory=index)

    def undo(
        self,
        operation: str | None = None,
        *,
        conversation: str | None = None,
        any_actor: bool = False,
        dry_run: bool = False,
    ) -> Undone:
        """Undo the newest append or operation of this store's author, or the operation with this id.

        conversation: only what changed this conversation.
        any_actor: whoever did it.
        dry_run: return what would be undone, and change nothing.

        >>> store.undo(dry_run=True).target.summary
        """
        done = undo(self.repository, operation, conversation=conversation, any_actor=any_actor, dry_run=dry_run)
        from scopes.handover.registration import follow_undo

        return follow_undo(self.repository, done)

    def redo(self, *, conversation: str | None = None, any_actor: bool = False, dry_run: bool = False) -> Undone:
        """Redo what this store's author undid last; the options are those of `undo`.

        >>> store.redo()
        """
        done = redo(self.repository, conversation=conversation, any_actor=any_actor, dry_run=dry_run)
        from scopes.handover.registration import follow_undo

        return follow_undo(self.repository, done)

    def register_agent(
        self,
        name: str,
        *,
        type: scopes.AgentType = "ai",  # noqa: A002
        description: str = "",
        capabilities: Sequence[str] = (),
        dependencies: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        available: bool = True,
    ) -> scopes.AgentChanged:
        """Register a person or a program; it gets a number that is never used again.

        capabilities: words for what it can do, which address it: `@review`.
        dependencies: context keys; it runs in `run_facts` when one of them has new facts.

        >>> store.register_agent("bot", capabilities=["review"]).agent.number
        """
        from scopes.agents.register import register

        return register(
            self.repository, name, agent_type=type, description=description, capabilities=capabilities,
            dependencies=dependencies, metadata=metadata, available=available,
        )  # fmt: skip

    def agents(self, *, capability: str | None = None, available: bool | None = None) -> scopes.AgentList:
        """Return the registered agents, by number, and other participants; or only agents that can do something.

        available: only agents that are available, or that are away.

        >>> [row.name for row in store.agents(available=True).agents]
        """
        from scopes.agents.list import list_agents

        return list_agents(self.repository, capability=capability, available=available)

    def inbox(self, agent: str, *, acknowledge: bool = False, everything: bool = False) -> scopes.Inbox:
        """Return the unread messages of an agent, in the order of sending.

        acknowledge: take them out of the inbox; of several processes that do so at once, each message goes to one.
        everything: also those that ask for something that has ended

        >>> [each.message.text for each in store.inbox("bot", acknowledge=True).messages]
        """
        from scopes.agents.inbox import read_inbox

        return read_inbox(self.repository, agent, acknowledge=acknowledge, everything=everything)
