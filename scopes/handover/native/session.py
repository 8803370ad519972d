"""A session that is written for an agent: what is the same for all of them, and the interface of what writes one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from scopes.clock import format_time, parse_time
from scopes.handover.native.turns import Turn
from scopes.ids import MessageId

_SURROGATE = re.compile("[\ud800-\udfff]")
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class NativeSession:
    """What a session is made of.

    id: UUID shaped, made of the tip and the agent, so that it is the same on every machine.
    created: RFC 3339, in whole seconds and UTC: the time of the newest message.
    directory: where the agent is to work.
    title: that of the conversation; empty if it has none.
    model: what the agent is set to, as PROVIDER/MODEL, if it asks for that; empty if that is not known.
    opening: the beginning of the first prompt, for an agent that has no session without a title.
    """

    id: str
    created: str
    directory: str
    title: str
    turns: Sequence[Turn]
    model: str = ""
    opening: str = ""

    @property
    def milliseconds(self) -> int:
        """The time of the session, since 1970."""
        return (parse_time(self.created) or 0) // _MILLION

    def times(self) -> list[int]:
        """Return the time of each turn in milliseconds since 1970; each is later than the one before.

        The last one is that of the session; turns that would be later than it, or have no time, come just before.
        """
        found: list[int] = []
        for turn in self.turns:
            time = (parse_time(turn.time or "") or 0) // _MILLION
            found.append(max(time, found[-1] + 1 if found else 1))
        limit = self.milliseconds
        for position in reversed(range(len(found))):
            found[position] = min(found[position], limit)
            limit = found[position] - 1
        return found

    def uuid_of(self, number: int) -> str:
        """Return the id of a record."""
        return uuid_of(self.id, str(number))


class NativeRecord(NamedTuple):
    """A record of a session, and the message that it is of; None for a record about the session.

    native_id: the id that the importer finds the message by, if not by its place in the file.
    """

    value: Mapping[str, Any]
    message: MessageId | None = None
    native_id: str | None = None


class FileWriter:
    """What is the same for agents with a file of JSON lines for each session, named after its UUID."""

    keeps_files = True

    def name_session(self, uuid: str) -> str:
        """Return the id of the session with a UUID."""
        return uuid

    def configured_model(self, directory: str) -> str:
        """Return nothing: the model of a session is not asked for."""
        del directory
        return ""

    def assemble(self, lines: Sequence[bytes]) -> bytes:
        """Return the document of the records."""
        return b"".join(lines)


class Writer(Protocol):
    """Writes sessions for one agent, as the versions read them that its module names."""

    @property
    def name(self) -> str:
        """The name of the agent, and of its transcript format."""

    @property
    def window(self) -> int:
        """The context window of the models that the agent usually has, in tokens."""

    @property
    def keeps_files(self) -> bool:
        """True if a session is a file of its own, which is written; else the agent's own import gets it."""

    def name_session(self, uuid: str) -> str:
        """Return the id of the session with a UUID."""

    def configured_model(self, directory: str) -> str:
        """Return the model of the agent's configuration in this directory, if sessions need one; empty if none."""

    def assemble(self, lines: Sequence[bytes]) -> bytes:
        """Return the document of the records, each of which is a line of JSON."""

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return where the agent looks for the session, below its configuration directory."""

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session in order."""


def uuid_of(*names: str) -> str:
    """Return the UUID for some names, of version 4 in form: some agents take no other."""
    octets = bytearray(sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def format_milliseconds(time: int) -> str:
    """Return a time as agents write it: 2026-01-01T00:00:00.000Z."""
    return format_time(time * _MILLION)


def dump(value: object) -> str:
    """Return a value as JSON on one line; a surrogate, which agents written in Rust do not read, is replaced."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return clean(text)


def clean(text: str) -> str:
    """Return a text without surrogates."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
