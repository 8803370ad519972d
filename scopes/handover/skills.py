"""`skills`: a short file that teaches an agent when and how to use scopes, in the folder where the agent looks for it.

The format is that of https://agentskills.io/specification: a folder with the skill's name, and in it SKILL.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from scopes.errors import Inaccessible, Invalid, Refused
from scopes.exporters.atomic_save import write_file
from scopes.result import Result

FOLDERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "agents": (".agents/skills", ".agents/skills"),
        "claude-code": (".claude/skills", ".claude/skills"),
        "codex": (".agents/skills", ".agents/skills"),
        "cursor": (".cursor/skills", ".cursor/skills"),
        "gemini": (".gemini/skills", ".gemini/skills"),
        "opencode": (".config/opencode/skills", ".opencode/skills"),
    }
)  # by agent: where it looks for the user's skills, from the home directory, and for those of a project
_FILE = os.path.join("scopes", "SKILL.md")
_OURS = "\n  generator: scopes\n"
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillChanged(Result):
    """What was done to the skill file of an agent: `state` is added, replaced, unchanged, removed, absent or shown.

    advice: what is left to do, or else to know; None if nothing is.
    """

    agent: str
    file: str
    state: str
    text: str
    advice: str | None = None


def install_skill(
    agent: str, directory: str, *, project: bool, force: bool = False, only_show: bool = False
) -> SkillChanged:
    """Write the skill file for an agent; an older one of ours is replaced.

    directory: the home directory, or that of the project.

    Raises:
        Invalid: the agent is not known.
        Refused: there is another skill of this name, and `force` is not given.
        Inaccessible: the file cannot be read or written.
    """
    path = path_of(agent, directory, project=project)
    text = files("scopes.handover").joinpath("skill.md").read_text("utf-8")
    if only_show:
        return SkillChanged(agent=agent, file=path, state="shown", text=text)
    before = _read(path)
    if before == text:
        return SkillChanged(agent=agent, file=path, state="unchanged", text=text)
    if before is not None and not force:
        _check_ours(path, before)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise Inaccessible(f"cannot make {os.path.dirname(path)}: {error.strerror}") from error
    write_file(path, [text.encode()], force=before is not None)
    return SkillChanged(agent=agent, file=path, state="added" if before is None else "replaced", text=text)


def remove_skill(agent: str, directory: str, *, project: bool, force: bool = False) -> SkillChanged:
    """Delete the skill file of an agent, and its folder if that is empty then; raises as `install_skill`."""
    path = path_of(agent, directory, project=project)
    before = _read(path)
    if before is None:
        return SkillChanged(agent=agent, file=path, state="absent", text="")
    if not force:
        _check_ours(path, before)
    try:
        os.unlink(path)
    except OSError as error:
        raise Inaccessible(f"cannot delete {path}: {error.strerror}") from error
    with suppress(OSError):
        os.rmdir(os.path.dirname(path))
    return SkillChanged(agent=agent, file=path, state="removed", text=before)


def path_of(agent: str, directory: str, *, project: bool) -> str:
    """Return the path of the skill file of an agent.

    Raises:
        Invalid: the agent is not known.
    """
    if agent not in FOLDERS:
        raise Invalid(f"{agent!a} is not an agent with skills", hint=f"agents: {', '.join(FOLDERS)}")
    return os.path.join(directory, *FOLDERS[agent][project].split("/"), _FILE)


def _read(path: str) -> str | None:
    """Return a file; None if there is none."""
    try:
        if os.path.lexists(path) and not os.path.isfile(path):
            raise Refused(f"{path} is not a file", hint="move it away")
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}") from error


def _check_ours(path: str, text: str) -> None:
    if _OURS not in text.partition("\n---")[0] + "\n":
        raise Refused(f"{path} is another skill of this name", hint="replace or delete it all the same: --force")
