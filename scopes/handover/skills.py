"""The skill file: a short text that teaches an agent when and how to use scopes, in the folder where it looks for it.

The format is that of https://agentskills.io/specification: a folder with the skill's name, and in it SKILL.md. A file
of scopes says so in its header. One that is replaced, or deleted although somebody has changed it, stays beside it as
`SKILL.md.bak`.

Sources of the folders: code.claude.com/docs/en/skills (Claude Code), developers.openai.com/codex/skills (Codex),
cursor.com/docs/skills (Cursor, not run), docs/cli/skills.md of Gemini CLI, opencode.ai/docs/skills (OpenCode).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from shlex import quote
from types import MappingProxyType

from scopes.errors import Inaccessible, Invalid, Refused
from scopes.exporters.atomic_save import remove_leftovers, write_file
from scopes.hosts.agents import AGENTS, UserDirectories, config_directory, target_named
from scopes.hosts.config_file import require_inside
from scopes.hosts.install_state import InstallState, columns_of, remark_outdated
from scopes.result import Result
from scopes.secret_scan.clearance import without_store

SHARED = ".agents"
FOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "agents": SHARED,
        "claude-code": ".claude",
        "codex": SHARED,
        "cursor": ".cursor",
        "gemini": ".gemini",
        "opencode": ".opencode",
    }
)  # by target: the folder of a project with `skills`. The user's is SHARED in the home directory, or the agent's own.
BACKUP = ".bak"
_FILE = os.path.join("scopes", "SKILL.md")
_OURS = "\n  generator: scopes\n"
_MAX_BYTES = 1 << 20
_START_AGAIN = "agents read their skills when they start: start those that are running again"
_SENTENCES = {
    "added": "Wrote {file}",
    "replaced": "Replaced {file}",
    "unchanged": "{file} is up to date",
    "removed": "Deleted {file}",
    "absent": "{file} does not exist",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillChanged(Result):
    """What was done to the skill file of a target: `state` is added, replaced, unchanged, removed, absent or shown.

    advice: what is left to do, or else to know; None if nothing is.
    """

    agent: str
    file: str
    state: str
    text: str
    advice: str | None = None

    @property
    def sentence(self) -> list[str]:
        """What was done, and what is left to do."""
        return [] if self.state == "shown" else [self._done, self.advice or ""]

    @property
    def answer(self) -> str:
        """The file; of a skill that is shown its text."""
        return self.text if self.state == "shown" else self.file

    @property
    def remark(self) -> list[str]:
        """That the file is as before, and what is left to do."""
        return [self._done if self.state in {"unchanged", "absent"} else "", self.advice or ""]

    @property
    def next_step(self) -> str:
        """How to delete the file."""
        is_added = self.state in {"added", "replaced"}
        return f"delete it with: scopes setup {quote(self.agent)} --only skill --remove" if is_added else ""

    @property
    def _done(self) -> str:
        return _SENTENCES.get(self.state, "").format(file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsStatus(Result):
    """How the skill of each target is, in the order of the table."""

    rows_in = "skills"
    columns = columns_of("Skill")

    skills: tuple[InstallState, ...]

    @property
    def remark(self) -> list[str]:
        """What is outdated, and what to do."""
        return remark_outdated(self.skills)


def install_skill(
    agent: str, directories: UserDirectories, *, project: bool, force: bool = False, only_show: bool = False
) -> SkillChanged:
    """Write the skill file for an agent; another one of ours is replaced.

    project: write it for the project instead of for the user.

    Raises:
        Invalid: there is no such target.
        Refused: there is another skill of this name, and `force` is not given; or a link leads out of the project.
        Inaccessible: the file cannot be read or written.
    """
    agent = target_named(agent)
    path, text = path_of(agent, directories, project=project), read_shipped()
    if only_show:
        return SkillChanged(agent=agent, file=path, state="shown", text=text)
    before = _read_own(path, directories, project=project, force=force)
    if before == text:
        return SkillChanged(agent=agent, file=path, state="unchanged", text=text)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if before is not None:
            os.replace(path, path + BACKUP)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="check its permissions") from error
    write_file(path, [without_store().clear(text.encode(), "the skill")], force=True)
    state = "added" if before is None else "replaced"
    advice = _START_AGAIN if before is None else f"{_START_AGAIN}; the file as it was: {path}{BACKUP}"
    return SkillChanged(agent=agent, file=path, state=state, text=text, advice=advice)


def remove_skill(agent: str, directories: UserDirectories, *, project: bool, force: bool = False) -> SkillChanged:
    """Delete the skill file of an agent, and the folders that are empty then; raises as `install_skill`.

    The agents of a shared folder have one file.
    """
    agent = target_named(agent)
    path = path_of(agent, directories, project=project)
    before = _read_own(path, directories, project=project, force=force)
    if before is None:
        return SkillChanged(agent=agent, file=path, state="absent", text="")
    is_known = before == read_shipped()
    try:
        remove_leftovers(path)
        if is_known:
            os.unlink(path)
        else:
            os.replace(path, path + BACKUP)
    except OSError as error:
        raise Inaccessible(f"cannot delete {path}: {error.strerror}", hint="check its permissions") from error
    skill = os.path.dirname(path)
    with suppress(OSError):  # agents keep their own folders
        os.rmdir(skill)
        os.rmdir(os.path.dirname(skill))
        if FOLDERS[agent] == SHARED:
            os.rmdir(os.path.dirname(os.path.dirname(skill)))
    sharing = ", ".join(name for name, folder in FOLDERS.items() if folder == FOLDERS[agent] and name != agent)
    advice = [f"it was also the skill of {sharing}"] if sharing else []
    advice += [] if is_known else [f"the file as it was: {path}{BACKUP}"]
    return SkillChanged(agent=agent, file=path, state="removed", text=before, advice="; ".join(advice) or None)


def skills_status(directories: UserDirectories, names: Sequence[str] = ()) -> SkillsStatus:
    """Return how the skills of some targets are, of all without names: that of the user, then that of the project.

    Raises:
        Invalid: there is no such target.
    """
    targets = [target_named(name) for name in names] or list(FOLDERS)
    return SkillsStatus(skills=tuple(state for target in targets for state in _states_of(target, directories)))


def _states_of(target: str, directories: UserDirectories) -> Iterator[InstallState]:
    user, project = (path_of(target, directories, project=project) for project in (False, True))
    yield _state_of(InstallState(target, "missing", user))
    if project != user:
        state = _state_of(InstallState(target, "missing", project, in_project=True))
        if state.condition != "missing":
            yield state


def _state_of(state: InstallState) -> InstallState:
    """Return how a file is; one that cannot be read is a condition, not an error."""
    try:
        text = _read(state.file)
    except (Refused, Inaccessible) as error:
        return state._replace(condition="unreadable", detail=error.message)
    if text is None:
        return state
    if not _is_ours(text):
        return state._replace(detail="another skill has this name")
    if text == read_shipped():
        return state._replace(condition="installed")
    cure = f"scopes setup {quote(state.target)} --only skill{' --here' if state.in_project else ''}"
    return state._replace(condition="outdated", detail="it is not the one of this version of scopes", cure=cure)


def read_shipped() -> str:
    """Return the text of the skill that this version has."""
    return files("scopes.handover").joinpath("skill.md").read_text("utf-8")


def path_of(agent: str, directories: UserDirectories, *, project: bool) -> str:
    """Return the path of the skill file of a target.

    Raises:
        Invalid: there is no such target.
    """
    if agent not in FOLDERS:
        raise Invalid(f"{agent!a} is not a target of skills", hint=f"targets: {', '.join(FOLDERS)}")
    folder = FOLDERS[agent]
    if project:
        top = os.path.join(directories.project, folder)
    elif folder == SHARED:
        top = os.path.join(directories.home, folder)
    else:
        top = config_directory(AGENTS[agent], directories.environ, directories.home)
    return os.path.join(top, "skills", _FILE)


def _read_own(path: str, directories: UserDirectories, *, project: bool, force: bool) -> str | None:
    """Return a file that may be changed; None if there is none. Raises as `install_skill`."""
    if project:
        require_inside(path, directories.project)
    text = _read(path)
    if text is not None and not force and not _is_ours(text):
        raise Refused(f"{path} is another skill of this name", hint="to replace or delete it: --force")
    return text


def _read(path: str) -> str | None:
    """Return a file; None if there is none.

    Raises:
        Refused: it is not a file.
        Inaccessible: it cannot be read.
    """
    try:
        if os.path.lexists(path) and not os.path.isfile(path):
            raise Refused(f"{path} is not a file", hint="move it away")
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error


def _is_ours(text: str) -> bool:
    """Return True if scopes has written a skill, whatever was changed since."""
    return _OURS in text.partition("\n---")[0] + "\n"
