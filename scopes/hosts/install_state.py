"""How something that scopes has installed for another program is: a server or a skill, in the words of hooks."""

from __future__ import annotations

from typing import NamedTuple

from scopes.hosts.hook_target import HookCondition


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
