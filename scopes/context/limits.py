"""What a person can set about contexts, beside what is asked for."""

from __future__ import annotations

from typing import NamedTuple

from scopes.context.assemble import TIGHT_BELOW
from scopes.context.context_cache import KEPT_SECONDS


class Limits(NamedTuple):
    """Limits with their defaults; None is none.

    `files` is the share of files in hundredths of what history and files have together, else the mode's; of all turns
    at most `candidates` are weighed for a task (S4-37). A conversation of `max_turns` messages is full, and one that
    is `idle_seconds` old has been left (S1-24): both are told and change nothing. A context is kept for `kept_seconds`.
    A budget below `tight_below` has room for the newest session only (S1-16).
    """

    files: int | None = None
    candidates: int | None = None
    max_turns: int | None = None
    idle_seconds: int | None = None
    kept_seconds: int = KEPT_SECONDS
    tight_below: int = TIGHT_BELOW
