"""Find the file of a session below the directories of years, months and days in which Codex keeps its rollouts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from scopes.importers.formats.base import list_entries

_NUMBER = re.compile(r"\d{2}|\d{4}")


def find_rollout(top: str, thread: str) -> str | None:
    """Return the newest file of a thread, the newest day first; None if there is none."""
    for folder in _walk_days(top, 3):
        names = [entry.name for entry in list_entries(folder) if entry.name.endswith(f"-{thread}.jsonl")]
        if names:
            return os.path.join(folder, max(names))
    return None


def _walk_days(folder: str, depth: int) -> Iterator[str]:
    """Yield the directories of days, the newest first."""
    if depth == 0:
        yield folder
        return
    names = sorted((entry.name for entry in list_entries(folder) if _NUMBER.fullmatch(entry.name)), reverse=True)
    for name in names:
        yield from _walk_days(os.path.join(folder, name), depth - 1)
