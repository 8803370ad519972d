"""`stats`: how large a conversation is, and who made it so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scopes.clock import format_seconds
from scopes.conversation.files import touches_of
from scopes.conversation.log import messages_of
from scopes.conversation.lookup import branch_tips
from scopes.ids import ConversationId
from scopes.result import Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Result):
    """Counts over all branches, each message once; names sorted by count, then by name. Times are RFC 3339."""

    conversation: ConversationId
    branches: int
    messages: int
    characters: int
    files: int
    tool_calls: int
    authors: Mapping[str, int]
    kinds: Mapping[str, int]
    models: Mapping[str, int]
    tools: Mapping[str, int]
    first: str | None
    last: str | None
    duration_seconds: int | None


def stats(repository: Repository, conversation: str) -> Stats:
    """Count a conversation's messages, authors, kinds, models, tools and files."""
    chosen, messages = messages_of(repository, conversation)
    authors, kinds, models, tools = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    paths: set[str] = set()
    times: list[int] = []
    characters = 0
    for head, message in messages:
        authors[message.author.name] += 1
        kinds[message.kind] += 1
        times.append(head.time)
        characters += len(message.text)
        paths |= {path for path, _ in touches_of(message)}
        if message.model is not None:
            models[message.model] += 1
        tools.update(str(part.fields.get("name", "unknown")) for part in message.parts if part.type == "tool_call")
    return Stats(
        conversation=chosen,
        branches=len(branch_tips(repository, chosen)),
        messages=len(times),
        characters=characters,
        files=len(paths),
        tool_calls=tools.total(),
        authors=_by_count(authors),
        kinds=_by_count(kinds),
        models=_by_count(models),
        tools=_by_count(tools),
        first=format_seconds(min(times)) if times else None,
        last=format_seconds(max(times)) if times else None,
        duration_seconds=max(times) - min(times) if times else None,
    )


def _by_count(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
