"""Messages in the making: one is open at a time, the others are closed and follow each other in one line."""

from __future__ import annotations

from scopes.importers.codex.building import MODEL_KINDS, RESULTS, Building
from scopes.importers.codex.envelope import ITEM, Line, text_of
from scopes.importers.codex.known import is_known_state
from scopes.importers.projection import Ending, Event, Span, State, Unparsed
from scopes.importers.unknown_parts import tell_unknown
from scopes.model.message import Author, Part


class Assembly:
    """Puts records together to messages and states; `ready` are the events that nothing can change any more."""

    def __init__(self, git_branch: str | None) -> None:
        self.open: Building | None = None
        self.owed: Building | None = None  # an answer whose results are open, and whose usage may still be told
        self.position: str | None = None  # what the next message follows
        self.copying = False
        self.cwd: str | None = None
        self.model: str | None = None
        self._git_branch = git_branch
        self._latest: str | None = None
        self._ready: list[Event] = []

    def begin(self, line: Line, author: Author, kind: str, parts: tuple[Part, ...] = ()) -> Building:
        """Begin a message with a record; the one before it is closed."""
        self.close()
        key = str(line.span.offset)
        self.open = Building(
            key=key,
            parent=self.position,
            author=author,
            kind=kind,
            copied=self.copying,
            time=line.time,
            cwd=self.cwd,
            git_branch=self._git_branch,
        )
        self.position = self._latest = key
        self.add(self.open, line, parts)
        return self.open

    def add(self, message: Building, line: Line, parts: tuple[Part, ...] = ()) -> None:
        """Add a record to the open message."""
        message.spans.append(line.span)
        message.parts += parts
        name = text_of(line.payload, "id")
        if name is not None and line.kind == ITEM:
            message.native_ids[name] = None

    def continues(self, kind: str) -> Building | None:
        """Return the open message if it is of a kind, and as much or as little a copy as the record at hand."""
        message = self.open
        return message if message is not None and message.kind == kind and message.copied == self.copying else None

    def begin_results(self, line: Line, author: Author, *, owed: bool) -> Building:
        """Begin the results of the open answer's tools; where it is `owed` its usage, it is closed only with them."""
        answer = self.open if owed and self.open is not None and self.open.kind in MODEL_KINDS else None
        if answer is not None:
            self.open = None
        results = self.begin(line, author, RESULTS)
        self.owed = answer
        return results

    def settle(self) -> None:
        """Close the answer that was owed its usage."""
        if self.owed is not None:
            self._ready += tell_unknown(self.owed.draft())
            self.owed = None

    def close(self) -> None:
        """Close the open message."""
        self.settle()
        if self.open is not None:
            self._ready += tell_unknown(self.open.draft())
            self.open = None

    def keep(self, line: Line) -> None:
        """Keep a record that belongs to no message."""
        if is_known_state(line):
            self.keep_spans(line.key, [line.span], line.time)
        else:
            self.reject(line, "a record of unknown type")

    def reject(self, line: Line, reason: str) -> None:
        """Keep a record that could not be read."""
        self._ready.append(Unparsed(spans=(line.span,), reason=f"{reason}: {line.key!a}"))

    def keep_spans(self, key: str, spans: list[Span], time: str | None = None) -> None:
        """Keep records that turned out to belong to no message."""
        self._ready.append(State(key=key, spans=tuple(spans), time=time))

    def take_ready(self) -> list[Event]:
        """Return what can be yielded now, and forget it."""
        ready, self._ready = self._ready, []
        return ready

    def ending(self, title: str | None) -> Ending:
        """End the source; its last message stays open, and an answer before it that may still be told its usage."""
        first = self._latest if self.owed is None else self.owed.key
        self.close()
        return Ending(active=self.position, title=title, open=first)
