"""The Python API: handles of a store and its conversations with the operations of the command line as methods.

`WritableStore` and `WritableConversation` extend the handles that only read, `Store` and `Conversation` of
`scopes.history.handles`; branches, revisions and messages are those of every operation. `import scopes` gives all these
names and loads them at first use. Results and exceptions are the same as those of the command line: the Result classes
of `scopes.conversation`, and `ScopesError` with its subclasses in `scopes.errors`. Nothing is printed and nothing is
asked. A store may be kept open; it must not be shared by threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scopes.clock import new_id, now
from scopes.context.budget import default_budget
from scopes.context.context import context as build_context
from scopes.context.request import Request, with_settings
from scopes.context.result import Context
from scopes.conversation.append import MessageAppended
from scopes.conversation.append import append as append_message
from scopes.conversation.branch import BranchCreated
from scopes.conversation.branch import branch as run_branch
from scopes.conversation.cat import MessageView, cat
from scopes.conversation.conflicts import ConflictList, list_conflicts
from scopes.conversation.diff import Difference
from scopes.conversation.diff import diff as compare
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import ConversationList
from scopes.conversation.log import LogEntry, LogFilter
from scopes.conversation.log import log as walk_log
from scopes.conversation.merge import MergeOutcome
from scopes.conversation.merge import merge as merge_branches
from scopes.conversation.new import new
from scopes.conversation.show import ConversationView
from scopes.conversation.show import show as describe
from scopes.conversation.undo import Undone
from scopes.conversation.undo import redo as redo_operation
from scopes.conversation.undo import undo as undo_operation
from scopes.history.handles import Conversation, Store
from scopes.history.revisions import conversation_ids, resolve_conversation
from scopes.ids import ConversationId
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.results import Imported, Skipped
from scopes.importers.run import ImportOptions, import_sources
from scopes.index.database import index_directory
from scopes.model.message import Message
from scopes.model.validation import check_message
from scopes.search.search import Search
from scopes.search.search import search as run_search
from scopes.store.config import Setting
from scopes.store.discovery import cache_directory, choose_store
from scopes.store.init import create_store
from scopes.store.repository import Caller, open_repository
from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.models import resolve_model
from scopes.tokens.rank_files import rank_file_paths


def open_store(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = False,
    author: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> WritableStore:
    """Open a store: the one at `path`, or the one that the command line would use in the current directory.

    create: make the store if it does not exist.
    author: the default author of messages and the actor in operation records; default: the setting `scopes.author`.
    settings: values that override the configuration, such as `{"scopes.durability": "fast"}`.

    Raises:
        NotFound: there is no store.
        Corrupt, TooNew, Inaccessible: it cannot be read.
    """
    found = choose_store(os.environ, os.getcwd(), None if path is None else os.fspath(path))
    if create:
        create_store(found)
    overrides = {key.lower(): Setting(key, value, "program") for key, value in (settings or {}).items()}
    repository = open_repository(found, overrides)
    name = author or repository.config.find("scopes.author") or "user"
    repository.caller = Caller(actor=name, command=os.path.basename(sys.argv[0] or "python"))
    return WritableStore(repository, name)


@dataclass(frozen=True, slots=True)
class WritableStore(Store):
    """A store with the operations as methods; `author` is the default author of messages."""

    author: str

    @property
    def path(self) -> str:
        """The directory of the store."""
        return self.repository.path

    def list(self) -> ConversationList:
        """Return a row for every conversation: title, participants, branches, times; the most recently active first."""
        return list_conversations(self.repository, self._index_directory)

    def conversations(self) -> Sequence[WritableConversation]:
        """Return all conversations, sorted by id."""
        return [self.open(conversation_id) for conversation_id in conversation_ids(self.repository)]

    def conversation(self, text: str) -> WritableConversation:
        """Return a conversation by its id or a unique prefix.

        Raises:
            NotFound, Ambiguous: no conversation, or several, have this name.
        """
        return self.open(resolve_conversation(self.repository, text))

    def open(self, conversation_id: ConversationId) -> WritableConversation:
        """Return a conversation that is known to exist."""
        return WritableConversation(self.repository, conversation_id, self.author)

    @property
    def _index_directory(self) -> str:
        return index_directory(cache_directory(os.environ), self.path)

    def new(
        self,
        title: str | None = None,
        *,
        id: str | None = None,  # noqa: A002
        participants: Iterable[str] = (),
    ) -> WritableConversation:
        """Create a conversation with the branch `main`; without `id` it gets the next number.

        Raises:
            Invalid, Refused: the id is not valid, or a conversation has it.
        """
        created = new(self.repository, conversation_id=id, title=title, participants=participants)
        return self.open(created.id)

    def message(self, name: str) -> MessageView:
        """Return a message by id, unique prefix, tag or revision (`conv-001/main~2`).

        Raises:
            NotFound, Ambiguous: no message, or several, have this name.
        """
        return cat(self.repository, name)

    def search(
        self, query: str, *, conversation: str | None = None, limit: int = 20, newest_first: bool = False
    ) -> Search:
        """Find messages by words and fields; the query language is that of `scopes conv search`.

        Raises:
            Invalid: the query cannot be parsed.
        """
        return run_search(
            self.repository,
            query,
            index_directory=self._index_directory,
            conversation=conversation,
            limit=limit,
            newest_first=newest_first,
        )

    def import_file(self, path: str | os.PathLike[str], *, dry_run: bool = False, strict: bool = False) -> Imported:
        """Import a transcript, or every transcript below a directory; what is already stored is not imported again.

        Raises:
            NotFound, Inaccessible: the path does not exist or cannot be read.
            CannotImport: no format recognizes it, or with `strict` a record cannot be read.
        """
        skipped: list[Skipped] = []
        sources = find_sources(os.fspath(path), skipped)
        options = ImportOptions(dry_run=dry_run, strict=strict)
        return import_sources(self.repository, sources, FORMATS, options, skipped=tuple(skipped))

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

        Raises:
            NotFound, Refused: there is no such operation, or its refs have moved since.
        """
        return undo_operation(
            self.repository, operation, conversation=conversation, any_actor=any_actor, dry_run=dry_run
        )

    def redo(self, *, conversation: str | None = None, any_actor: bool = False, dry_run: bool = False) -> Undone:
        """Redo what this store's author undid last; the options are those of `undo`.

        Raises:
            NotFound, Refused: nothing was undone last, or its refs have moved since.
        """
        return redo_operation(self.repository, conversation=conversation, any_actor=any_actor, dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class WritableConversation(Conversation):
    """A conversation with the operations as methods; `author` is the default author of messages."""

    author: str

    @property
    def title(self) -> str | None:
        """The title, if it has one."""
        return self.metadata.title

    def show(self) -> ConversationView:
        """Return title, participants, branches with their sizes, and the last messages."""
        return describe(self.repository, self.id)

    def conflicts(self) -> ConflictList:
        """Return the open conflicts."""
        return list_conflicts(self.repository, self.id)

    def log(
        self,
        branch: str | None = None,
        *,
        limit: int | None = None,
        oldest_first: bool = False,
        only: LogFilter | None = None,
    ) -> Iterator[Message]:
        """Yield the messages of a branch (default: the active one), newest first, with their bodies.

        Raises:
            NotFound, Ambiguous: no branch, or several, have this name.
        """
        where = self.id if branch is None else f"{self.id}/{branch}"
        entries = walk_log(self.repository, where, oldest_first=oldest_first, limit=limit, only=only).items
        return (entry.message for entry in entries if isinstance(entry, LogEntry) and entry.message is not None)

    def append(
        self, text: str, *, author: str | None = None, kind: str = "plain", branch: str | None = None, **fields: Any
    ) -> MessageAppended:
        """Append a message to a branch (default: the active one); it is on disk when this returns.

        fields: further fields of a JSON line of `append --jsonl`, such as `to`, `files`, `time` or `decision`.

        Raises:
            Invalid: a field is not valid.
            NotFound, Busy: the branch does not exist; the store is locked.
        """
        document = {"author": author or self.author, "text": text, "kind": kind, **fields}
        message = check_message(document, message_id=new_id(), now=now())
        return append_message(self.repository, self.id, message, branch=branch)

    def create_branch(
        self, name: str | None = None, *, purpose: str | None = None, agent: str | None = None, start: str | None = None
    ) -> BranchCreated:
        """Create a branch at `start` (default: the active branch's tip) and make it the active one.

        Raises:
            Invalid, Refused: the name or purpose is not valid, or the name is taken.
        """
        return run_branch(self.repository, self.id, name=name, purpose=purpose, agent=agent, start=start)

    def merge(
        self, source: str, *, target: str | None = None, strategy: str = "automatic", dry_run: bool = False
    ) -> MergeOutcome:
        """Merge a branch into another (default: the active one).

        The outcome is UpToDate, FastForwarded, Merged or MergeConflicted; a conflict is a result and no exception.

        Raises:
            NotFound, Ambiguous, Invalid: a branch or the strategy does not exist.
            Refused: the histories have nothing in common, or a rule forbids the merge.
        """
        repository = self.repository
        return merge_branches(repository, self.id, source, target=target, strategy=strategy, dry_run=dry_run)

    def diff(self, left: str, right: str) -> Difference:
        """Compare two branches or messages of this conversation."""
        return compare(self.repository, self.id, f"{left}..{right}")

    def context(
        self,
        branch: str | None = None,
        *,
        max_tokens: int | None = None,
        task: str | None = None,
        model: str | None = None,
        project: str = "",
    ) -> Context:
        """Build a context of at most `max_tokens` tokens: the newest turns, or the most relevant ones for a task.

        max_tokens: default: the content part of the model's window, 4000 for a task, or 8000.
        project: the directory whose files may be embedded; empty: no file is read.

        Raises:
            Invalid: the budget is negative or the task has no words.
        """
        repository = self.repository
        row = None if model is None else resolve_model(model, repository.config.walk())
        if max_tokens is None:
            max_tokens = default_budget(repository.config, row, has_task=task is not None)
        where = self.id if branch is None else f"{self.id}/{branch}"
        request = Request(where=where, max_tokens=max_tokens, task=task, project=project)
        request = with_settings(request, repository.config)
        tokenizer = choose_tokenizer(rank_file_paths(os.environ), row)
        return build_context(repository, request, tokenizer, cache_directory(os.environ))
