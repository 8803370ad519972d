"""Whether the text of a message matches a query, without an index: for messages that no branch has any more.

Words, phrases and regular expressions are tested. What only an index answers, such as `agent:`, is left open: it alone
makes no match, and it prevents none.
"""

from __future__ import annotations

from collections.abc import Callable

from scopes.model.message import Message
from scopes.search.message_documents import texts_of
from scopes.search.query import Field, Node, Not, Or, Phrase, parse
from scopes.search.regex import compile_regex
from scopes.search.snippet import has_phrase


def text_matcher(query: str) -> Callable[[Message], bool]:
    """Return a test of messages.

    Raises:
        Invalid: the query is not valid.
    """
    test = _compile(parse(query))
    return lambda message: test([text for text in texts_of(message) if text]) is True


def _compile(node: Node) -> Callable[[list[str]], bool | None]:
    """Return a test of texts, which answers None for what is left open."""
    if isinstance(node, Phrase):
        return lambda texts: any(has_phrase(node, text) for text in texts)
    if isinstance(node, Field):
        return _compile_regex(node.value) if node.name == "re" else lambda _: None
    if isinstance(node, Not):
        item = _compile(node.item)
        return lambda texts: None if (found := item(texts)) is None else not found
    items = [_compile(each) for each in node.items]
    decides = isinstance(node, Or)
    return lambda texts: _combine([item(texts) for item in items], decides=decides)


def _combine(found: list[bool | None], *, decides: bool) -> bool | None:
    """Combine answers: one that decides is enough; otherwise what is known is the answer."""
    if decides in found:
        return decides
    return None if found.count(None) == len(found) else not decides


def _compile_regex(pattern: str) -> Callable[[list[str]], bool]:
    find = compile_regex(pattern)
    return lambda texts: any(find(text) is not None for text in texts)
