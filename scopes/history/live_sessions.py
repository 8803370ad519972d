"""The sessions that `scopes acp` recorded, as the metadata of a conversation name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.ids import BranchName
from scopes.model.conversation import ACP, BranchEntry


def walk_live_sessions(branches: Mapping[BranchName, BranchEntry]) -> Iterator[tuple[str, str, str]]:
    """Yield the session id, agent and directory of each session that was recorded live, the earlier ones too."""
    for entry in branches.values():
        match entry.extra.get(ACP):
            case {"session": last, "agent": str(agent), "cwd": str(directory), **more}:
                earlier = more.get("stale")
                for session in (last, *(earlier if isinstance(earlier, list) else ())):
                    if isinstance(session, str):
                        yield session, agent, directory
