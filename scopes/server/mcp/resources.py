"""Resources: what a host can put into a context without a tool call."""

from __future__ import annotations

from mcp.server.mcpserver.exceptions import ResourceError

from scopes.context.request import new_request
from scopes.conversation.list import ConversationList, ListFilter, list_conversations
from scopes.history.names import resolve_branch
from scopes.memory.list import show_memory
from scopes.render.document import make_document
from scopes.search.run import search
from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.answers import empty_search
from scopes.server.mcp.budget import Rows, document_text, fit
from scopes.server.mcp.clearing import clear_messages, clear_text, hidden_query
from scopes.server.mcp.contexts import build_text

_TOKENS = 20_000
_ROWS = 100


class Resources:
    """The functions that read the resources."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def conversations(self) -> str:
        """The most recently active conversations."""
        with self._access.find(refusal=ResourceError) as store:
            found = ConversationList(conversations=())
            if store is not None:
                found = list_conversations(store.repository, self._access.index, wanted=ListFilter(limit=_ROWS))
            return _text(make_document(found), "conversations")

    def branch(self, conversation: str, branch: str) -> str:
        """A branch as a context: decisions, summary and the newest messages, as recorded data."""
        with self._access.open(refusal=ResourceError) as store:
            conversation_id, name = resolve_branch(store.repository, conversation, branch)
            where = f"{conversation_id}/{name}"
            request = new_request(store.repository.config, None, where=where, max_tokens=_TOKENS)
            return clear_text(build_text(store.repository, request, self._access.cache).formatted_history)

    def memory(self, entry: str) -> str:
        """One entry of the memory."""
        with self._access.open(refusal=ResourceError) as store:
            return _text(make_document(show_memory(store.repository, entry)), None)

    def file(self, path: str) -> str:
        """The messages that touched a file, the newest first."""
        query = f'file:"{path}"'
        with self._access.find(refusal=ResourceError) as store:
            if store is None:
                return _text(empty_search(hidden_query(query)), "messages_found")
            found = search(
                store.repository, query, index_directory=self._access.index, newest_first=True, limit=_ROWS,
                reading=lambda: clear_messages(store.repository), clear=clear_text,
            )  # fmt: skip
            return _text(make_document(found) | {"query": hidden_query(query)}, "messages_found")


def _text(document: dict[str, object], rows: str | None) -> str:
    return document_text(fit(document, None if rows is None else Rows(name=rows), _TOKENS)) + "\n"
