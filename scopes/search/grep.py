"""`log --grep`: a test of messages by regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scopes.model.message import Message
from scopes.search.message_documents import texts_of
from scopes.search.regex import compile_regex


def grep_messages(patterns: Sequence[str], *, ignore_case: bool = False) -> Callable[[Message], bool]:
    """Return a test: one of the patterns matches in a text of the message, of its reasoning or of its tools.

    Raises:
        Invalid: a pattern is not a valid regular expression.
    """
    matchers = [compile_regex(f"(?i){pattern}" if ignore_case else pattern) for pattern in patterns]

    def matches(message: Message) -> bool:
        return any(find(text) is not None for text in texts_of(message) if text for find in matchers)

    return matches
