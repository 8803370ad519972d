"""Where OpenHands keeps a conversation: a folder with a file for each event.

    conversations/ID/base_state.json, TASKS.json, events/event-00000-EVENT.json     the SDK, OpenHands 1.x
    conversations/ID/subagents/ID/...                                               conversations that it started
    sessions/ID/metadata.json, events/0.json                                        OpenHands before 1.0

Sources: conversation/persistence_const.py of OpenHands/software-agent-sdk; openhands/storage/locations.py and
openhands/events/event_store.py of All-Hands-AI/OpenHands. A line for each file becomes the source. `event_cache` has
copies of the events; `init.json` may have tokens of the user, and `*.pkl` is code of Python: none of these is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from scopes.importers.formats.base import list_entries
from scopes.importers.formats.collection import Conversation
from scopes.importers.formats.row_lines import encode_file
from scopes.regular_file import read_regular

FORMAT = "openhands"
TOP = "conversations/"
EVENTS = "events"
SUB_AGENTS = "subagents"
MAX_FILE_BYTES = 64 << 20
_EVENT = re.compile(r"(?:event-)?(\d{1,18})(?:-[0-9A-Za-z-]{1,64})?\.json")
_FIELD_OF = {"base_state.json": b'"id"', "metadata.json": b'"conversation_id"'}  # and a field of each
_ABOUT = ("base_state.json", "metadata.json", "TASKS.json")


class OpenHandsFolder:
    """The folder of a conversation."""

    format = FORMAT
    subfolders = frozenset({EVENTS})
    depth = 2

    def recognizes(self, folder: str) -> bool:
        """Return True if there is a file of an event."""
        events = os.path.join(folder, EVENTS)
        return not os.path.islink(events) and any(_EVENT.fullmatch(entry.name) for entry in list_entries(events))

    def explain_incomplete(self, folder: str) -> str | None:
        """Return that a conversation has no events; None if the folder is none, or has some."""
        if self.recognizes(folder) or not any(_is_about(folder, name, field) for name, field in _FIELD_OF.items()):
            return None
        return f"a conversation of OpenHands without events: there is no file such as {EVENTS}/event-00000-ID.json"

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the conversation, then those that it started."""
        above, name = os.path.split(folder)
        parent = os.path.basename(os.path.dirname(above)) if os.path.basename(above) == SUB_AGENTS else ""
        place = f"{parent}/{SUB_AGENTS}/{name}" if parent else name
        yield _conversation(folder, place)
        started = os.path.join(folder, SUB_AGENTS)
        for entry in sorted(() if os.path.islink(started) else list_entries(started), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and self.recognizes(entry.path):
                yield _conversation(entry.path, f"{name}/{SUB_AGENTS}/{entry.name}")


def _is_about(folder: str, name: str, field: bytes) -> bool:
    """Return True if a file of a folder is there, no link, and has a field of the one that OpenHands writes."""
    path = os.path.join(folder, name)
    try:
        return not os.path.islink(path) and field in read_regular(path, MAX_FILE_BYTES)
    except OSError:
        return False


def _conversation(folder: str, place: str) -> Conversation:
    messages: set[str] = set()
    return Conversation(os.path.basename(folder), _walk_files(folder, place, messages), messages)


def _walk_files(folder: str, place: str, messages: set[str]) -> Iterator[bytes]:
    for name in _ABOUT:
        yield from _read(folder, name, place)
    events = [
        (int(found[1]), found[0])
        for entry in list_entries(os.path.join(folder, EVENTS))
        if (found := _EVENT.fullmatch(entry.name))
    ]
    for _, name in sorted(events):
        messages.add(name)
        yield from _read(folder, f"{EVENTS}/{name}", place)


def _read(folder: str, path: str, place: str) -> Iterator[bytes]:
    """Yield the line of a file, unless it is a link, which may lead out of the folder, or is not there."""
    whole = os.path.join(folder, *path.split("/"))
    if os.path.islink(whole):
        return
    try:
        content = read_regular(whole, MAX_FILE_BYTES)
    except FileNotFoundError:
        return
    yield encode_file(f"{TOP}{place}/{path}", content)
