"""`log --grep`: a test of messages by regular expressions, with the engine and the time limit of `search`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scopes.errors import Invalid
from scopes.model.message import Message
from scopes.search.message_documents import texts_of
from scopes.search.regex import LIMIT_SECONDS, TooSlow, compile_regex, install_hint


def grep_messages(patterns: Sequence[str], *, ignore_case: bool = False) -> Callable[[Message], bool]:
    """Return a test: one of the patterns matches in a text of the message, of its reasoning or of its tools.

    The test raises Invalid if a pattern exceeds the time limit.

    Raises:
        Invalid: a pattern is not a valid regular expression.
    """
    matchers = [(pattern, compile_regex(f"(?i){pattern}" if ignore_case else pattern)) for pattern in patterns]

    def matches(message: Message) -> bool:
        texts = [text for text in texts_of(message) if text]
        for pattern, find in matchers:
            try:
                if any(find(text) is not None for text in texts):
                    return True
            except TooSlow as error:
                limit = f"{LIMIT_SECONDS:g} seconds on message {message.id[:8]}"
                raise Invalid(f"{pattern!a} took longer than {limit}", hint=install_hint()) from error
        return False

    return matches
