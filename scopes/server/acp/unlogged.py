"""Tell the user what `acp.log` cannot take, such as in a home directory on a read-only file system.

Standard error of the proxy is the only place left: `doctor` and `acp --log` read the log. What is normal is
not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from scopes.live.event_log import OnLost
from scopes.result import Note

_SHOWN: Final = {  # what has an error that the user has to know
    "store-failed": "the recording waits in memory for its store",
    "spool-failed": "what waits for its store cannot be kept on disk",
    "recording-off": "nothing more is recorded",
}


def tell_unlogged(directory: str, note: Callable[[Note], None]) -> OnLost:
    """Return what to call with each event that a log cannot take; `note` gets what the user has to know, once."""
    shown: set[tuple[str, str]] = set()

    def show_once(text: str, error: str, hint: str | None) -> None:
        if (text, error) not in shown:
            shown.add((text, error))
            note(Note(f"{text}: {error}", hint))

    def on_lost(event: str, fields: Mapping[str, Any], error: OSError) -> None:
        hint = "scopes doctor and scopes acp --log cannot say how the recording goes; to let them, set XDG_STATE_HOME"
        show_once(f"cannot write {directory}", error.strerror or str(error), hint)
        if event in _SHOWN:
            show_once(_SHOWN[event], str(fields.get("error")), fields.get("hint"))

    return on_lost
