"""The tools that only read: conversations, messages, decisions, contexts, search and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from scopes.code_links.why import WhyRequest
from scopes.code_links.why import why as find_why
from scopes.context.request import new_request
from scopes.conversation.decisions import decisions
from scopes.conversation.list import ConversationList, ListFilter, list_conversations
from scopes.conversation.show import show
from scopes.errors import Invalid
from scopes.history.names import resolve_branch
from scopes.memory.search import MemoryFilter, MemoryHits
from scopes.memory.search import search as search_memory
from scopes.search.run import search
from scopes.server.mcp.access import NO_STORE, Client, StoreAccess
from scopes.server.mcp.answers import answer, empty_search, note_objects, result_answer
from scopes.server.mcp.budget import DEFAULT_TOKENS, Rows
from scopes.server.mcp.clearing import clear_messages, clear_text, hidden_query
from scopes.server.mcp.contexts import context_answer
from scopes.server.mcp.pages import read_page
from scopes.server.mcp.positions import current_directory, find_conversation_id, position
from scopes.store.projects import Project, find_here, find_project

Budget = Annotated[int, Field(description="The most tokens that the answer may have")]
Where = Annotated[str, Field(description="A conversation (conv-001), or one of its branches (conv-001/main)")]
_MAX_ROWS = 500


class ReadingTools:
    """Tools without side effects; each opens the store for its own request."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def conversation_list(
        self,
        client: Client,
        agent: Annotated[str | None, Field(description="Only those in which this agent took part")] = None,
        here: Annotated[bool, Field(description="Only those of the project around the current directory")] = False,
        limit: Annotated[int, Field(description="How many, the most recently active first")] = 20,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """List conversations of all agents on this machine: ids, titles, participants, last activity.

        Call it to find earlier work, or a conversation whose number you do not know.
        """
        with self._access.find(client) as store:
            projects = (_find_project(self._access.path),) if here else ()
            clear = str if agent is None else clear_text
            wanted = ListFilter(agent=agent, projects=projects, limit=_check_rows(limit), clear=clear)
            found = ConversationList(conversations=(), notes=(NO_STORE,))
            if store is not None:
                found = list_conversations(store.repository, self._access.index, wanted=wanted)
            return result_answer(found, rows="conversations", max_tokens=max_tokens)

    def conversation_show(
        self, client: Client, conversation: Where, max_tokens: Budget = DEFAULT_TOKENS
    ) -> CallToolResult:
        """Describe a conversation: its title, participants, branches with their sizes, and its last messages."""
        with self._access.open(client) as store, clear_messages(store.repository):
            conversation_id, branch = resolve_branch(store.repository, conversation, None)
            view = show(store.repository, conversation_id)
            more = position(store.repository, conversation_id, branch)
            return result_answer(view, more, rows="recent", max_tokens=max_tokens)

    def conversation_read(
        self,
        client: Client,
        conversation: Where,
        after: Annotated[
            str | None, Field(description="Begin after this message: the `next` of the last answer")
        ] = None,
        limit: Annotated[int, Field(description="How many messages")] = 50,
        newest: Annotated[bool, Field(description="The last messages instead of the first ones")] = False,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Read the messages of a branch, oldest first. To go on, call it again with `after` set to `next`.

        To continue work with a summary of what was said, call conversation_continue instead: it fits a budget.
        """
        with self._access.open(client) as store, clear_messages(store.repository):
            repository = store.repository
            conversation_id, branch = resolve_branch(repository, conversation, None)
            count = _check_rows(limit)
            where = position(repository, conversation_id, branch)
            page = read_page(repository, conversation_id, branch, after=after, limit=count, newest=newest)
            rows = Rows(name="messages", hidden=page.hidden, newest=newest, paged=not newest)
            document = {"kind": "messages", **where, "messages": page.rows}
            document |= {"has_older": True} if page.has_older else {}
            return answer(document, rows=rows, max_tokens=max_tokens)

    def conversation_search(
        self,
        client: Client,
        query: Annotated[str, Field(description='Words, "a phrase", or fields such as file:login.py author:codex')],
        conversation: Annotated[
            str | None, Field(description="Only in this conversation, whatever branch a continuation_id names")
        ] = None,
        newest_first: Annotated[bool, Field(description="The newest instead of the best first")] = False,
        any_word: Annotated[bool, Field(description="One of the words is enough")] = False,
        limit: Annotated[int, Field(description="How many hits")] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Search what was said in all conversations: prompts, answers, tool calls, file names, errors.

        Call it before you solve a problem that may have been solved before. Messages with a possible secret are left
        out.
        """
        with self._access.find(client) as store:
            if store is None:
                document = empty_search(hidden_query(query)) | {"notes": note_objects([NO_STORE])}
                return answer(document, rows=Rows(name="messages_found"), max_tokens=max_tokens)
            found = search(
                store.repository,
                query,
                index_directory=self._access.index,
                conversation=None if conversation is None else find_conversation_id(store.repository, conversation),
                newest_first=newest_first,
                any_word=any_word,
                limit=_check_rows(limit),
                reading=lambda: clear_messages(store.repository),
                clear=clear_text,
            )
            return result_answer(found, {"query": hidden_query(query)}, rows="messages_found", max_tokens=max_tokens)

    def conversation_continue(
        self,
        client: Client,
        continuation_id: Annotated[str, Field(description="The continuation_id of an earlier answer: conv-001/main")],
        task: Annotated[str | None, Field(description="What you want to do: the most relevant messages then")] = None,
        include_files: Annotated[bool, Field(description="Also the files that were touched, as they are now")] = False,
        max_tokens: Budget = 8_000,
    ) -> CallToolResult:
        """Get the context to go on with a conversation, within a budget: decisions, summary, the newest messages.

        Call it first when you continue work that another session or agent began. The text is recorded data.
        """
        with self._access.open(client) as store:
            repository = store.repository
            conversation_id, branch = resolve_branch(repository, continuation_id, None)
            directory = current_directory() if include_files else ""
            request = new_request(
                repository.config,
                None,
                where=f"{conversation_id}/{branch}",
                task=task,
                max_tokens=max_tokens,
                project=directory if directory and find_project(directory) is not None else "",
            )
            where = position(repository, conversation_id, branch)
            return context_answer(repository, request, self._access.cache, where)

    def decision_list(
        self,
        client: Client,
        conversation: Where,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """List the decisions of a conversation, and which are in effect. Call it before you decide again."""
        with self._access.open(client) as store, clear_messages(store.repository):
            conversation_id, branch = resolve_branch(store.repository, conversation, None)
            name = f"{conversation_id}/{branch}" if "/" in conversation else conversation_id
            more = position(store.repository, conversation_id, branch)
            found = decisions(store.repository, name)
            return result_answer(found, more, rows="decisions", max_tokens=max_tokens)

    def why(
        self,
        client: Client,
        target: Annotated[str, Field(description="A file or lines of it: src/app.py:42, src/app.py:40-60")],
        revision: Annotated[str | None, Field(description="A commit of the project; default: the working tree")] = None,
        candidates: Annotated[int, Field(description="How many further turns to name")] = 0,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Find the prompt that a line of code is from: blame, commit, conversation, turn, what was asked and agreed to.

        Call it before you change code whose reason you do not know. `level` says how sure the answer is.
        """
        with self._access.open(client) as store:
            if "\0" in f"{target}{revision}":
                raise Invalid("no file and no revision has a NUL character in its name")
            more = _check_rows(candidates) if candidates else 0
            request = WhyRequest(target=target, cwd=current_directory(), revision=revision, candidates=more)
            found = find_why(store.repository, self._access.index, request)
            return result_answer(found, rows="lines", max_tokens=max_tokens)

    def memory_search(
        self,
        client: Client,
        query: Annotated[str, Field(description="Words that must all occur")],
        agent: Annotated[str | None, Field(description="Only entries of this agent")] = None,
        limit: Annotated[int, Field(description="How many entries")] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Search the memory: summaries, decisions and open actions of earlier conversations."""
        with self._access.find(client) as store:
            count = _check_rows(limit)
            hits = MemoryHits(query=query, hits=(), notes=(NO_STORE,))
            if store is not None:
                hits = search_memory(store.repository, query, MemoryFilter(agent=agent), clear=clear_text)
            found = replace(hits, hits=hits.hits[:count], query=hidden_query(query))
            return result_answer(found, rows="hits", max_tokens=max_tokens)


def _find_project(store: str) -> Project:
    """Return the project in which the server was started.

    Raises:
        Invalid: there is none.
    """
    directory = current_directory()
    if find_project(directory) is None:
        raise Invalid("the server was not started in a project", hint="leave out here")
    return find_here(directory, store)


def _check_rows(limit: int) -> int:
    """Raise Invalid if a number of rows is impossible."""
    if not 1 <= limit <= _MAX_ROWS:
        raise Invalid(f"limit must be from 1 to {_MAX_ROWS}, not {limit}", hint="for example: 20")
    return limit
