"""From records to messages: the lines of an answer are one message, and so are the results of its tools.

One message is open at a time; the first record of another one closes it. An answer also ends at its first result, so
that what was read never changes when the file grows: what the same answer says later is a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scopes.importers.claude_code.calls import Calls
from scopes.importers.claude_code.message import MAX_BYTES, OpenMessage, opening_of
from scopes.importers.claude_code.parts import read_part
from scopes.importers.claude_code.records import ANSWER, INTERRUPT, NAME, RESULTS, Saying, text_of
from scopes.importers.claude_code.results import read_results
from scopes.importers.claude_code.tree import Place, Tree
from scopes.importers.claude_code.usage import read_counts
from scopes.importers.projection import Draft, Span, Unparsed
from scopes.importers.unknown_parts import tell_unknown


class Composer:
    """The messages of a file while it is read; `session_id` is the one that needs no mention."""

    def __init__(self, tree: Tree, session_id: str) -> None:
        self.calls = Calls()
        self.last: str | None = None
        self._tree = tree
        self._session_id = session_id
        self._open: OpenMessage | None = None
        self._answered: set[str | None] = set()
        self._told: dict[str, tuple[str, dict[str, int]]] = {}
        self._agents: dict[str, str] = {}

    def agent_of(self, side: str) -> str:
        """Name the agent that speaks on a sub-agent's line."""
        return self._agents.get(side, NAME)

    def say(self, span: Span, value: dict[str, Any], saying: Saying, place: Place) -> Iterator[Draft | Unparsed]:
        """Add what a record says to the open message, or to a new one; yields the message that this closes."""
        if self._open is None or not self._joins(self._open, span, saying, place):
            if saying.kind == INTERRUPT and self._open is not None and self._open.key == place.parent:
                self._open.interrupt()
            yield from self.close()
            self._open = self._begin(span, value, saying, place)
        self._add(self._open, span, value, saying)
        self._tree.lead(value, self._open.key)

    def close(self) -> Iterator[Draft | Unparsed]:
        """Close the open message, if there is one."""
        if self._open is not None:
            answer = self._open.saying.answer
            counted = self._told[answer][1] if answer in self._told else {}
            yield from tell_unknown(self._open.draft(counted))
            if answer is not None:
                counts = read_counts(self._open.usage)
                self._told[answer] = self._open.key, {**counted, **counts}
            self.last = self._open.key
            self._open = None

    def _joins(self, open_message: OpenMessage, span: Span, saying: Saying, place: Place) -> bool:
        """Tell whether a record goes on with the open message: a line of the same answer, a result beside results."""
        kind = open_message.saying.kind
        if kind != saying.kind or open_message.place.side != place.side or open_message.size + span.length > MAX_BYTES:
            return False
        if kind == ANSWER:
            return saying.answer is not None and saying.answer == open_message.saying.answer
        follows = {open_message.key, open_message.parent, open_message.place.parent}
        return kind == RESULTS and place.parent in follows

    def _begin(self, span: Span, value: dict[str, Any], saying: Saying, place: Place) -> OpenMessage:
        key = str(span.offset)
        session = text_of(value, "sessionId")
        message = OpenMessage(
            key=key,
            place=place,
            parent=self._parent(saying, place),
            saying=saying,
            opening=opening_of(value),
            session=session if session != self._session_id else None,
            status=saying.status,
            spawned_by=self._spawner(saying, place.side),
        )
        if saying.kind == RESULTS:
            self._answered |= {message.parent, place.parent}
        self._tree.begin(key, place.side)
        return message

    def _parent(self, saying: Saying, place: Place) -> str | None:
        """Return the message before; what an answer still says or gets after its first results goes on behind them."""
        late = saying.kind == RESULTS and place.parent is not None and place.parent in self._answered
        again = saying.answer in self._told and self._told[saying.answer][0] == place.parent
        return self._tree.last(place.side) if late or again else place.parent

    def _spawner(self, saying: Saying, side: str | None) -> dict[str, str] | None:
        """Return the call that began a sub-agent, with the first message of its line."""
        if side is None or self._tree.last(side) is not None:
            return None
        prompt = next((part.text for part in map(read_part, saying.blocks) if part.type == "text"), "")
        spawn = self.calls.find_spawn(side, prompt)
        if spawn is None:
            return None
        if spawn.agent is not None:
            self._agents[side] = spawn.agent
        return {"call_id": spawn.call_id}

    def _add(self, message: OpenMessage, span: Span, value: dict[str, Any], saying: Saying) -> None:
        if saying.kind == RESULTS:
            results = read_results(value, saying.blocks, self.calls)
            message.add_results(span, value, results)
            return
        message.add(span, value, [read_part(block) for block in saying.blocks])
        if saying.kind == ANSWER:
            for block in saying.blocks:
                self.calls.note(message.key, block)
