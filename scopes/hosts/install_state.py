"""How something that scopes has installed for another program is: a server or a skill, in the words of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scopes.hosts.hook_target import HookCondition
from scopes.result import Column


class InstallState(NamedTuple):
    """How what was installed for one target is.

    condition: `outdated` if a new installation would write something else
    detail: why it is not as it should be, or what else is to know; empty if nothing is
    cure: the command that brings it up to date; empty if nothing is outdated
    in_project: the file is that of the current directory, not of the user
    """

    target: str
    condition: HookCondition
    file: str
    detail: str = ""
    cure: str = ""
    in_project: bool = False

    def document(self) -> dict[str, object]:
        """Return the JSON object; only what is in the project has `in_project`."""
        return {name: value for name, value in self._asdict().items() if value}


def columns_of(title: str) -> tuple[Column, ...]:
    """Return the columns of states; `title` says of what."""
    return (
        Column("target", "Agent", "agent"),
        Column("condition", title, "state"),
        Column("detail", "Problem", "below"),
        Column("file", form="path"),
        Column("cure", form="below", on="terminal"),
    )


def remark_outdated(states: Sequence[InstallState]) -> list[str]:
    """Return which of them are outdated, and what to do."""
    return [
        f"{state.target}{' in this project' if state.in_project else ''} is outdated: {state.detail}; "
        f"to bring it up to date: {state.cure}"
        for state in states
        if state.condition == "outdated"
    ]
