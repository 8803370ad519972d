"""How what was installed for other programs is, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.handover.skill_status import SkillsStatus
    from scopes.hosts.install_state import InstallState
    from scopes.hosts.mcp_status import McpStatus


@to_wire.register
def format_mcp_status(result: McpStatus) -> dict[str, object]:
    """Return a row for each host."""
    return {"kind": "mcp-status", "servers": _rows(result.servers)}


@to_wire.register
def format_skills_status(result: SkillsStatus) -> dict[str, object]:
    """Return a row for each target, and one for each skill of the project."""
    return {"kind": "skills-status", "skills": _rows(result.skills)}


def _rows(states: Sequence[InstallState]) -> list[dict[str, object]]:
    """Return states without empty fields; only what is in the project has `in_project`."""
    return [
        without_none(
            target=state.target,
            condition=state.condition,
            file=state.file,
            detail=state.detail or None,
            cure=state.cure or None,
            in_project=state.in_project or None,
        )
        for state in states
    ]
