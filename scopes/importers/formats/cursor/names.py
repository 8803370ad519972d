"""The words that the file of a conversation and its reader have in common; this imports nothing, for a fast hook."""

from __future__ import annotations

from typing import Final

NAME: Final = "cursor"
MARK: Final = "scopes_hook"
STOP: Final = "stop"
