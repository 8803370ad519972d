"""What was found as JSON: one line a message, and last one that says what was covered."""

from __future__ import annotations

from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.message_shape import head_object
from scopes.search.hits import SearchHit
from scopes.search.search import Search, SearchCoverage


@to_wire.register(SearchHit)
def hit(result: SearchHit) -> dict[str, object]:
    """Lay out one message that was found; `message` is what its commit tells."""
    return known(
        kind="search-hit",
        conversation=result.conversation,
        branch=result.branch,
        also=list(result.also) or None,
        score=result.score,
        retracted=result.retracted or None,
        amended=result.amended or None,
        part=result.part,
        snippet=[known(text=piece.text, found=piece.found or None) for piece in result.snippet],
        message=head_object(result.head),
        before=[head_object(beside.head) for beside in result.before] or None,
        after=[head_object(beside.head) for beside in result.after] or None,
    )


@to_wire.register(SearchCoverage)
def coverage(result: SearchCoverage) -> dict[str, object]:
    """Lay out what was covered: the last line of an answer."""
    return known(
        kind="search",
        query=result.query,
        shown=result.shown,
        hits=result.hits,
        conversation=result.conversation,
        conversations=result.conversations,
        branches=result.branches,
        messages=result.messages,
        damaged_conversations=result.damaged,
        unreadable_messages=result.unreadable,
        index=result.index,
        commits_read=result.read,
        stopped_at=result.stopped_at,
    )


@to_wire.register(Search)
def search(result: Search) -> dict[str, object]:
    """Lay out the whole answer as one document."""
    return {**coverage(result.coverage), "messages_found": [hit(item) for item in result.hits]}
