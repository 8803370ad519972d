"""Read which session a file belongs to, from its first records, so that the answer stays the same while it grows.

A sub-agent's file is in `<session>/subagents/`; if its records do not name the session, the folder does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scopes.errors import CannotImport
from scopes.importers.formats.base import SNIFF_BYTES, Source
from scopes.importers.formats.claude_code.parent_links import ParentLinks
from scopes.importers.formats.claude_code.record import NAME, is_message
from scopes.importers.formats.events import Session
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.lossless_json import find_text_field

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}  # most preferred first
_AGENT_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+)[/\\]subagents[/\\](?:.*[/\\])?agent-([^/\\]+)\.jsonl", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Header:
    """The session of a file, from the records up to the first message.

    sub_file: id of the sub-agent, if the file is a sub-agent's
    base: session that this one was forked from
    aliases: other sessions named in the first 256 KiB; a resumed session copies the one it continues
    """

    session_id: str
    sub_file: str | None
    created: str | None
    cwd: str | None
    version: str | None
    base: str | None
    aliases: tuple[str, ...]

    def session(self) -> Session:
        """Return the Session event."""
        details = {"version": self.version, "aliases": list(self.aliases) or None}
        return Session(
            format=NAME,
            native_id=self.session_id,
            sub_file=self.sub_file,
            created=self.created,
            cwd=self.cwd,
            base=self.base,
            details={name: detail for name, detail in details.items() if detail is not None},
        )


def read_header(source: Source) -> Header:
    """Read the header of a file, up to its first message; once for a file that stays the same.

    Raises:
        CannotImport: no record names a session.
        OSError: the file cannot be read.
    """
    if type(source) is not Source:
        return _read_header(source)
    status = os.stat(source.path)
    return _read_file_header(source, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=1000)
def _read_file_header(source: Source, _state: tuple[int, ...]) -> Header:
    return _read_header(source)


def _read_header(source: Source) -> Header:
    names: dict[str, None] = {}
    first: dict[str, Any] = {}
    created = cwd = version = None
    known = _KnownNames()
    with source.open() as stream:
        for record in walk_records(stream, source.size, known.has_all_of):
            if first and record.span.offset >= SNIFF_BYTES:
                break
            value = record.value if isinstance(record.value, dict) else {}
            names |= dict.fromkeys(filter(None, [text_field(value, "sessionId")]))
            if not first:
                created, cwd = created or time_field(value), cwd or text_field(value, "cwd")
                version = version or text_field(value, "version")
                first = value if is_message(value) else first
            known.names = names if first else {}
    session_id = text_field(first, "sessionId") or next(iter(names), None)
    sub_file = text_field(first, "agentId") if first.get("isSidechain") is True else None
    agent_file = _AGENT_FILE.fullmatch(source.path)
    if agent_file is not None and (session_id or "").removeprefix("agent-") in {"", sub_file, agent_file[2]}:
        session_id, sub_file = agent_file[1], sub_file or agent_file[2]
    if session_id is None:
        raise CannotImport(f"{source.path} names no session", hint="every Claude Code transcript has a sessionId")
    base = text_field(object_field(first, "forkedFrom"), "sessionId")
    return Header(
        session_id=session_id,
        sub_file=sub_file,
        created=created,
        cwd=text_field(first, "cwd") or cwd,
        version=text_field(first, "version") or version,
        base=base if base != session_id else None,
        aliases=tuple(name for name in names if name != session_id),
    )


class _KnownNames:
    """The sessions that are known when only their names are still of interest."""

    def __init__(self) -> None:
        self.names: Collection[str] = ()

    def has_all_of(self, line: bytes) -> bool:
        """Return True if a line certainly names no other session."""
        if not self.names:
            return False
        name = find_text_field(line, "sessionId")
        return name is None or name in self.names


class Titles:
    """The titles in a file; the last one of each kind counts."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._summaries: dict[str, str] = {}

    def add(self, value: dict[str, Any]) -> None:
        """Add the title of a record, if it has one."""
        kind = text_field(value, "type")
        if kind == "summary":
            leaf, summary = text_field(value, "leafUuid"), text_field(value, "summary")
            if leaf is not None and summary is not None:
                self._summaries.pop(leaf, None)
                self._summaries[leaf] = summary
        elif kind in _TITLES and (title := text_field(value, _TITLES[kind])):
            self._titles[kind] = title

    def best(self, links: ParentLinks) -> str | None:
        """Return the preferred title. A summary counts only if its message is in the file."""
        own = [summary for leaf, summary in self._summaries.items() if leaf in links]
        candidates = [*(self._titles.get(kind) for kind in _TITLES), *reversed(own)]
        return next((title.strip() for title in candidates if title and title.strip()), None)
