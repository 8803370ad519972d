"""The tools that only read: conversations, messages, decisions, contexts, search and memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

from mcp.types import CallToolResult, TextContent
from pydantic import Field

from scopes.code_links.why import WhyRequest
from scopes.code_links.why import why as find_why
from scopes.context.context import context as build_context
from scopes.context.request import new_request
from scopes.conversation.decisions import decisions
from scopes.conversation.list import list_conversations
from scopes.conversation.list_filter import ListFilter
from scopes.conversation.log import log
from scopes.conversation.show import show
from scopes.errors import Invalid
from scopes.history.limits import check_limits, idle_before, read_limits
from scopes.history.revisions import list_branch_tips, resolve_branch, resolve_revision
from scopes.ids import BranchName, ConversationId
from scopes.memory.search import MemoryFilter
from scopes.memory.search import search as search_memory
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.context import write_context
from scopes.search.search import search
from scopes.server.mcp.access import Client, StoreAccess
from scopes.server.mcp.answers import DEFAULT_TOKENS, answer, check_budget, note_objects, result_answer
from scopes.store.projects import find_project
from scopes.store.repository import Repository
from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.rank_files import rank_file_paths

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
        with self._access.open(client, create=True) as store:
            project = find_project(os.getcwd()) if here else None
            projects = () if project is None else (project,)
            wanted = ListFilter(agent=agent, projects=projects, limit=_check_rows(limit))
            found = list_conversations(store.repository, self._access.index, wanted=wanted)
            return result_answer(found, rows="conversations", max_tokens=max_tokens)

    def conversation_show(
        self, client: Client, conversation: Where, max_tokens: Budget = DEFAULT_TOKENS
    ) -> CallToolResult:
        """Describe a conversation: its title, participants, branches with their sizes, and its last messages."""
        with self._access.open(client) as store:
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
        with self._access.open(client) as store:
            repository = store.repository
            conversation_id, branch = resolve_branch(repository, conversation, None)
            where = f"{conversation_id}/{branch}"
            if after is not None:
                where = f"{resolve_revision(repository, after, conversation_id).oid}..{where}"
            count = None if not newest else _check_rows(limit)
            entries = list(log(repository, where, limit=count, oldest_first=True).items)
            rows = [to_wire(each) for each in entries[: _check_rows(limit)]]
            document = {"kind": "messages", **position(repository, conversation_id, branch), "messages": rows}
            left = len(entries) - len(rows)
            answered = answer(document, rows="messages", max_tokens=max_tokens)
            return _with_next(answered, left)

    def conversation_search(
        self,
        client: Client,
        query: Annotated[str, Field(description='Words, "a phrase", or fields such as file:login.py author:codex')],
        conversation: Annotated[str | None, Field(description="Only in this conversation")] = None,
        newest_first: Annotated[bool, Field(description="The newest instead of the best first")] = False,
        any_word: Annotated[bool, Field(description="One of the words is enough")] = False,
        limit: Annotated[int, Field(description="How many hits")] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Search what was said in all conversations: prompts, answers, tool calls, file names, errors.

        Call it before you solve a problem that may have been solved before.
        """
        with self._access.open(client, create=True) as store:
            found = search(
                store.repository,
                query,
                index_directory=self._access.index,
                conversation=conversation,
                newest_first=newest_first,
                any_word=any_word,
                limit=_check_rows(limit),
            )
            return result_answer(found, rows="messages_found", max_tokens=max_tokens)

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
        check_budget(max_tokens)
        with self._access.open(client) as store:
            repository = store.repository
            conversation_id, branch = resolve_branch(repository, continuation_id, None)
            project = find_project(os.getcwd()) if include_files else None
            request = new_request(
                repository.config,
                None,
                where=f"{conversation_id}/{branch}",
                task=task,
                max_tokens=max_tokens,
                project=os.getcwd() if project is not None else "",
            )
            tokenizer = choose_tokenizer(rank_file_paths(os.environ), None, strict=False)
            found = build_context(repository, request, tokenizer, self._access.cache)
            facts = without_none(
                kind="context",
                **position(repository, conversation_id, branch),
                tokens_used=found.tokens_used,
                turns_included=found.turns_included,
                turns_excluded=found.turns_excluded,
                notes=note_objects(found.notes) or None,
            )
            text = write_context(found, "markdown")
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content={**facts, "text": text})

    def decision_list(
        self,
        client: Client,
        conversation: Where,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """List the decisions of a conversation, and which are in effect. Call it before you decide again."""
        with self._access.open(client) as store:
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
            more = _check_rows(candidates) if candidates else 0
            request = WhyRequest(target=target, cwd=os.getcwd(), revision=revision, candidates=more)
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
        with self._access.open(client, create=True) as store:
            hits = search_memory(store.repository, query, MemoryFilter(agent=agent))
            found = replace(hits, hits=hits.hits[: _check_rows(limit)])
            return result_answer(found, rows="hits", max_tokens=max_tokens)


def position(repository: Repository, conversation: ConversationId, branch: BranchName) -> dict[str, object]:
    """Return the fields with which an agent goes on: the branch, its commit, and the turns that it has left."""
    tip = list_branch_tips(repository, conversation)[branch]
    remaining, _ = check_limits(repository, tip, read_limits(repository.config), idle_before)
    return without_none(
        conversation=conversation,
        branch=branch,
        continuation_id=f"{conversation}/{branch}",
        commit=tip,
        remaining_turns=remaining,
    )


def _with_next(answered: CallToolResult, left: int) -> CallToolResult:
    """Add the message after which the next page begins, if there is one."""
    document = answered.structured_content or {}
    left += int(document.pop("left_out", 0))
    messages = document["messages"]
    if left and messages:
        document |= {"left_out": left, "next": messages[-1]["id"]}
    return answer(document, max_tokens=100_000)


def _check_rows(limit: int) -> int:
    """Raise Invalid if a number of rows is impossible."""
    if not 1 <= limit <= _MAX_ROWS:
        raise Invalid(f"limit must be from 1 to {_MAX_ROWS}, not {limit}", hint="for example: 20")
    return limit
