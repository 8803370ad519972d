"""Find the file of a session below the directories of projects in which Claude Code keeps them."""

from __future__ import annotations

import os

from scopes.importers.formats.base import list_entries


def find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; None if there is none."""
    paths = (os.path.join(entry.path, f"{session}.jsonl") for entry in list_entries(top))
    return next((path for path in paths if os.path.isfile(path)), None)
