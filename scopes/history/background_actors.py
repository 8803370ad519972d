"""Whose operations are those that record agents while they work.

They are not the user's: `undo` takes back the newest thing that the user did, not a turn that was recorded since.
"""

from __future__ import annotations

from typing import Final

HOOKS: Final = "hooks"  # of agents and of git
WATCH: Final = "watch"
ACP: Final = "acp"
