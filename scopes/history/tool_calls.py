"""Find the message with the tool calls that a message of results answers."""

from __future__ import annotations

from scopes.history.messages import MessageHeader, header_of
from scopes.store.repository import Repository, read_commit

TOOL_RESULTS = "tool-results"
BETWEEN_CALL_AND_RESULT = frozenset({TOOL_RESULTS, "system", "meta", "notice", "error"})  # kinds of message
MAX_RESULTS = 64


def find_call_message(repository: Repository, results: MessageHeader) -> MessageHeader | None:
    """Return the next ancestor that is neither a result nor a notice between a call and its results."""
    above = results
    for _ in range(MAX_RESULTS):
        if not above.parents:
            return None
        above = header_of(read_commit(repository, above.parents[0]))
        if above.kind not in BETWEEN_CALL_AND_RESULT:
            return above
    return None
