"""The names that agents give themselves in the Agent Client Protocol or as authors, by the names of their formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("claude",),
    "codex": ("codex-acp",),  # 2.6.0 of the adapter
    "gemini": ("gemini-cli",),  # 0.61.0
    "opencode": (),  # 1.18.33
    "pi": (),  # 0.73.1
    "qwen": ("qwen-code",),  # 0.15.10
}


def format_of_agent(name: str) -> str | None:
    """Return the name of the transcript format of an agent, in any case; None if it is not one of these."""
    folded = name.casefold()
    return next((known for known, others in NAMES.items() if folded in {known, *others}), None)
