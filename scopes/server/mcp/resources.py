"""Resources: what a host can put into a context without a tool call."""

from __future__ import annotations

from mcp.server.mcpserver.exceptions import ResourceError

from scopes.context.context import context as build_context
from scopes.context.request import new_request
from scopes.conversation.list import list_conversations
from scopes.conversation.list_filter import ListFilter
from scopes.history.revisions import resolve_branch
from scopes.memory.list import show_memory
from scopes.render.dispatch import to_wire
from scopes.render.json_line import json_line
from scopes.search.search import search
from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.answers import fit
from scopes.tokens.choose import TokenizerChoice
from scopes.tokens.estimate import EstimatingTokenizer

_TOKENS = 20_000
_ROWS = 100


class Resources:
    """The functions that read the resources."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def conversations(self) -> str:
        """The most recently active conversations."""
        with self._access.open(create=True, refusal=ResourceError) as store:
            found = list_conversations(store.repository, self._access.index, wanted=ListFilter(limit=_ROWS))
            return json_line(fit(to_wire(found), "conversations", _TOKENS))

    def branch(self, conversation: str, branch: str) -> str:
        """A branch as a context: decisions, summary and the newest messages, as recorded data."""
        with self._access.open(refusal=ResourceError) as store:
            conversation_id, name = resolve_branch(store.repository, conversation, branch)
            where = f"{conversation_id}/{name}"
            request = new_request(store.repository.config, None, where=where, max_tokens=_TOKENS)
            choice = TokenizerChoice(EstimatingTokenizer(), ())
            return build_context(store.repository, request, choice, self._access.cache).formatted_history

    def memory(self, entry: str) -> str:
        """One entry of the memory."""
        with self._access.open(refusal=ResourceError) as store:
            return json_line(fit(to_wire(show_memory(store.repository, entry)), None, _TOKENS))

    def file(self, path: str) -> str:
        """The messages that touched a file, the newest first."""
        with self._access.open(refusal=ResourceError) as store:
            query = f'file:"{path}"'
            found = search(store.repository, query, index_directory=self._access.index, newest_first=True, limit=_ROWS)
            return json_line(fit(to_wire(found), "messages_found", _TOKENS))
