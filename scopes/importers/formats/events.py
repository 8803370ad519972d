"""The events that a format yields for a source: session, draft messages, state records, unparsed bytes, ending.

Every byte of the source belongs to exactly one event. A format knows nothing of the store: the importer assigns message
ids, writes commits and moves refs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from scopes.model.message import Author, FileTouch, Part

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
RENDERED_FROM = "rendered_from"  # in `details`: format and native id of the session that a rendering was made of
FILE = "file"  # in `details`: what tells the files of a session apart, of agents that may begin another one of it
EDITION = "edition"  # in `details`: the number of a file's layout, if an agent writes a session anew in a later one
STREAM = "stream"  # `details.line` of a session that was read from an event stream, and the sub file of the first one
EndStatus: TypeAlias = Literal["success", "error", "limit"]


class RunEnd(NamedTuple):
    """The end of a run as the agent's event stream reports it.

    status: `limit` if a limit of turns, time or cost ended it
    detail: the agent's own word, such as `error_max_turns`, and its error text
    denials: the calls that the agent reports as denied, by call id or tool name
    usage: token counts, named as those of a Draft, of the run or of its thread up to the end of the run
    """

    status: EndStatus
    detail: str = ""
    cost_usd: float | None = None
    turns: int | None = None
    seconds: float | None = None
    denials: tuple[str, ...] = ()
    usage: Mapping[str, int] | None = None


class ByteRange(NamedTuple):
    """A byte range of the source."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The first event: which session the source belongs to. None means unknown.

    native_id: the source's own id of the session
    sub_file: id of a file of the session other than the main one, such as a sub-agent's
    base: native id of the session that this one continues or was forked from
    spawned_by: the tool call that started a sub-agent
    local_directory: the working directory that another file of the agent tells, if this one has none; it goes into the
        metadata of this machine, and into no commit or id
    details: other facts; the importer reads `end_byte_offset` (bytes of the base that this session includes), `line`
        (branch kind of a sub file; STREAM for an event stream), `agent` (name of a sub-agent) and `forked_from`
        (session of a base that is a sub file)
    """

    format: str
    native_id: str
    sub_file: str | None = None
    created: str | None = None
    cwd: str | None = None
    title: str | None = None
    base: str | None = None
    spawned_by: Mapping[str, str] | None = None
    local_directory: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        """True if the session was read from what a headless agent printed, and not from the file that it kept."""
        return self.details.get("line") == STREAM


class Draft(NamedTuple):
    """A complete message without an id.

    key: unique within the session; `str(record.number)` is, but `record.line` is not
    parent: key of an earlier draft; None for the first message of a line of history
    kind: one of KINDS of `scopes.model.message`: `prompt` of a human, `answer` of an agent, `tool-results` ...
    native_ids: the source's own ids of the message, best first; they need not be unique
    time: RFC 3339; None if the source has none
    precision: of `time`: `exact`, `none`, or `restamped` if it was written when the message was copied
    usage: token counts (input_uncached, cache_read, cache_write, output, reasoning) and the source's object (`raw`)
    context_root: the model's context begins here, after a compaction or a clear
    side: name of the sub-agent whose line the message is on; None on the main line
    """

    key: str
    parent: str | None
    author: Author
    kind: str
    parts: tuple[Part, ...]
    spans: tuple[ByteRange, ...]
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
    side: str | None = None
    extra: Mapping[str, Any] = _NOTHING


class SessionRecord(NamedTuple):
    """A record that is not a message, such as a title, a mode or telemetry."""

    key: str
    spans: tuple[ByteRange, ...]
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsed:
    """Bytes that the format could not read; they are archived as they are.

    An empty span reports an unknown part of the message that begins there, which keeps the part raw.
    """

    spans: tuple[ByteRange, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The last event of a session.

    active: key of the message that the session is at
    open: key of the first message that later records of the source may still change
    dropped: keys of messages that the agent has taken back, or replaced
    notes: notes for the user
    run_end: how an event stream ends; None if it has no end record
    """

    active: str | None
    title: str | None = None
    open: str | None = None
    dropped: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    run_end: RunEnd | None = None


Event: TypeAlias = Session | Draft | SessionRecord | Unparsed | Ending
