"""What a format makes of a source: a stream of events in file order, of which messages are only one kind.

Every byte of the source belongs to exactly one event, so that the sum of their spans is the source: a message, a state
record (a title, a mode, telemetry), or bytes that the format could not read. The machine gives messages their ids,
writes them and moves refs; a format knows nothing of the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scopes.model.message import Author, FileTouch, Part


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the source, in bytes."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The first event of a source: whose history it is. Absent means unknown.

    `native_id` names the session, `part` a file of it that is not the main one (a sub-agent). `base` names the session
    that this one began from, and `spawned_by` the tool call that began a sub-agent.
    """

    format: str
    native_id: str
    part: str | None = None
    created: str | None = None
    cwd: str | None = None
    title: str | None = None
    base: str | None = None
    spawned_by: Mapping[str, str] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message that has no id yet; it is closed, nothing more of the source belongs to it.

    `key` is unique within the source and `parent` the key of an earlier draft, or None at the beginning of a line of
    history. `native_ids` are the source's own names for it, best first. `usage` is normalised (input_uncached,
    cache_read, cache_write, output, reasoning) with the source's own object under `raw`.
    """

    key: str
    parent: str | None
    author: Author
    kind: str
    parts: tuple[Part, ...]
    spans: tuple[Span, ...]
    native_ids: tuple[str, ...] = ()
    time: str | None = None
    precision: str | None = None
    reply_to: str | None = None
    files: tuple[FileTouch, ...] = ()
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    status: str | None = None
    tool: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    context_root: bool = False
    spawned_by: Mapping[str, str] | None = None
    side: str | None = None  # a sub-agent's line of history inside the same source, by its name
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A record that is no message; of several with one key the last counts."""

    key: str
    spans: tuple[Span, ...]
    value: Any = None
    time: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsed:
    """Bytes that the format could not read, kept as they are.

    A span of no length says where a message begins of which a part could not be read; it holds that part raw.
    """

    spans: tuple[Span, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The last event: which message the source stands at now, and what it says about itself by its end."""

    active: str | None
    title: str | None = None
    open: str | None = None  # the message that a longer source may still change
    notes: tuple[str, ...] = ()


Event: TypeAlias = Session | Draft | State | Unparsed | Ending
