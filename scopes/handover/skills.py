"""`skills`: a short file that teaches an agent when and how to use scopes, in the folder where the agent looks for it.

The format is that of https://agentskills.io/specification: a folder with the skill's name, and in it SKILL.md.

Sources of the folders: code.claude.com/docs/en/skills (Claude Code), developers.openai.com/codex/skills (Codex),
cursor.com/docs/skills (Cursor, not run), docs/cli/skills.md of Gemini CLI, opencode.ai/docs/skills (OpenCode).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from shlex import quote
from types import MappingProxyType

from scopes.errors import Inaccessible, Invalid, Refused
from scopes.exporters.atomic_save import remove_leftovers, write_file
from scopes.hosts.agents import AGENTS, UserDirectories, config_directory, target_named
from scopes.hosts.config_file import BEFORE, BEFORE_CHANGE, require_inside
from scopes.part_files import part_of
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
_FILE = os.path.join("scopes", "SKILL.md")
_OURS = "\n  generator: scopes\n"
_USERS = re.compile(r"(?<=\n)  installed-for: ([a-z -]*)\n")
_CHECKSUM = re.compile(r"(?<=\n)  checksum: ([0-9a-f]*)\n")
_MAX_BYTES = 1 << 20
_START_AGAIN = "agents read their skills when they start: start those that are running again"


_SENTENCES = {
    "added": "Wrote {file}",
    "replaced": "Replaced {file}",
    "unchanged": "{file} is up to date",
    "removed": "Deleted {file}",
    "kept": "Kept {file}",
    "absent": "{file} does not exist",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillChanged(Result):
    """What was done to the skill file of a target: `state` is added, replaced, unchanged, removed, kept, absent or
    shown.

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


def install_skill(
    agent: str, directories: UserDirectories, *, project: bool, force: bool = False, only_show: bool = False
) -> SkillChanged:
    """Write the skill file for an agent; an older one of ours is replaced.

    project: write it for the project instead of for the user.

    Raises:
        Invalid: there is no such target.
        Refused: there is another skill of this name, or the user has edited ours, and `force` is not given; or a link
            leads out of the project.
        Inaccessible: the file cannot be read or written.
    """
    agent = target_named(agent)
    path = path_of(agent, directories, project=project)
    text = read_shipped()
    if only_show:
        return SkillChanged(agent=agent, file=path, state="shown", text=text)
    if project:
        require_inside(path, directories.project)
    before = read_skill(path)
    text = _with_users(_with_checksum(text), agent, {agent, *users_of(before)})
    if before == text:
        return SkillChanged(agent=agent, file=path, state="unchanged", text=text)
    if before is not None and not force:
        _check_ours(path, before)
        _check_unedited(path, before)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise Inaccessible(f"cannot make {os.path.dirname(path)}: {error.strerror}") from error
    copy = None if before is None else _keep_copy(path, before)
    _write(path, text, force=before is not None)
    state = "added" if before is None else "replaced"
    advice = _START_AGAIN if copy is None else f"{_START_AGAIN}; the file as it was: {copy}"
    return SkillChanged(agent=agent, file=path, state=state, text=text, advice=advice)


def _keep_copy(path: str, text: str) -> str | None:
    """Copy a skill that scopes has not written, or one that was edited, next to it; return the path of the copy.

    Raises:
        Inaccessible: it cannot be written.
    """
    copy = path + BEFORE
    try:
        _check_ours(path, text)
        copy = path + BEFORE_CHANGE
        _check_unedited(path, text)
    except Refused:
        try:
            _copy(path, copy)
        except OSError as error:
            raise Inaccessible(f"cannot write {copy}: {error.strerror}", hint="check its permissions") from error
        return copy
    return None


def remove_skill(agent: str, directories: UserDirectories, *, project: bool, force: bool = False) -> SkillChanged:
    """Delete the skill file of an agent, and the folders that are empty then; raises as `install_skill`.

    A skill of somebody else that the installation has replaced is back then.
    A file that was installed for other agents too stays for them, unless `force` is given.
    """
    agent = target_named(agent)
    path = path_of(agent, directories, project=project)
    if project:
        require_inside(path, directories.project)
    before = read_skill(path)
    if before is None:
        return SkillChanged(agent=agent, file=path, state="absent", text="")
    if not force:
        _check_ours(path, before)
        others = set(users_of(before)) - {agent}
        if others:
            return _keep_for(others, agent, path, before, project=project)
        _check_unedited(path, before)
    remove_leftovers(path)
    try:
        os.unlink(path)
    except OSError as error:
        raise Inaccessible(f"cannot delete {path}: {error.strerror}") from error
    is_back = _restore(path)
    _remove_folders(path, FOLDERS[agent])
    sharing = [name for name in _agents_of_folder(agent) if name != agent]
    lost = f"it was also the skill of {', '.join(sharing)}" if sharing and not users_of(before) else None
    advice = "the skill that was there before is back" if is_back else lost
    return SkillChanged(agent=agent, file=path, state="removed", text=before, advice=advice)


def _remove_folders(path: str, folder: str) -> None:
    """Delete the folders of a skill that are empty; of those of agents only the one for skills."""
    skill = os.path.dirname(path)
    skills = os.path.dirname(skill)
    with suppress(OSError):
        os.rmdir(skill)
        os.rmdir(skills)
        if folder == SHARED:
            os.rmdir(os.path.dirname(skills))


def _restore(path: str) -> bool:
    """Put back the skill of somebody else that ours has replaced; return False if there is none."""
    if not os.path.isfile(path + BEFORE):
        return False
    try:
        os.replace(path + BEFORE, path)
    except OSError:
        return False
    return True


def _copy(path: str, copy: str) -> None:
    """Copy a file in one step; a link in the place of the copy is replaced, not followed."""
    temporary = part_of(copy)
    try:
        shutil.copyfile(path, temporary)
        os.replace(temporary, copy)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _keep_for(others: Iterable[str], agent: str, path: str, before: str, *, project: bool) -> SkillChanged:
    """Keep the file for other targets, and remove one from the list in it."""
    text = _with_users(before, agent, others)
    if text != before:
        _write(path, text, force=True)
    option = " --here" if project else ""
    commands = " && ".join(f"scopes setup {quote(name)} --only skill --remove{option}" for name in sorted(others))
    advice = f"it stays for {', '.join(sorted(others))}; to delete it: {commands}"
    return SkillChanged(agent=agent, file=path, state="kept", text=text, advice=advice)


def _write(path: str, text: str, *, force: bool) -> None:
    write_file(path, [without_store().clear(text.encode("utf-8", "surrogateescape"), "the skill")], force=force)


def _agents_of_folder(agent: str) -> list[str]:
    """Return the targets with the same folder as one of them, with that one."""
    return [name for name, folder in FOLDERS.items() if folder == FOLDERS[agent]]


def users_of(text: str | None) -> list[str]:
    """Return the agents that a file in a shared folder was installed for; none if that is not known."""
    found = _USERS.search((text or "").partition("\n---")[0] + "\n")
    return [] if found is None else [name for name in found[1].split() if name in FOLDERS]


def _with_users(text: str, agent: str, users: Iterable[str]) -> str:
    """Return the text of a file with the targets it is for, if its folder is shared."""
    text = _USERS.sub("", text, count=1)
    if len(_agents_of_folder(agent)) == 1:
        return text
    return text.replace(_OURS, f"{_OURS}  installed-for: {' '.join(sorted(users))}\n", 1)


def read_shipped() -> str:
    """Return the text of the skill that this version has."""
    return files("scopes.handover").joinpath("skill.md").read_text("utf-8")


def _with_checksum(text: str) -> str:
    """Return the text of a file with its checksum, by which an edited file is known."""
    return text.replace(_OURS, f"{_OURS}  checksum: {checksum_of(text)}\n", 1)


def checksum_of(text: str) -> str:
    """Return the checksum of a file without the lines that scopes changes."""
    bare = _USERS.sub("", _CHECKSUM.sub("", text, count=1), count=1)
    return hashlib.sha256(bare.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def written_checksum(text: str) -> str:
    """Return the checksum that scopes has written into a skill; empty if there is none."""
    found = _CHECKSUM.search(text.partition("\n---")[0] + "\n")
    return "" if found is None else found[1]


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


def read_skill(path: str) -> str | None:
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
        raise Inaccessible(f"cannot read {path}: {error.strerror}") from error


def is_ours(text: str) -> bool:
    """Return True if scopes has written a skill, whatever was changed since."""
    return _OURS in text.partition("\n---")[0] + "\n"


def _check_ours(path: str, text: str) -> None:
    if not is_ours(text):
        raise Refused(f"{path} is another skill of this name", hint="to replace or delete it: --force")


def _check_unedited(path: str, text: str) -> None:
    """Raise Refused if a file of ours is not as scopes wrote it; one of an older version may have no checksum."""
    if checksum_of(text) not in {checksum_of(read_shipped()), written_checksum(text)}:
        raise Refused(
            f"{path} was edited after scopes had written it",
            hint="keep a copy of your changes; then, to replace or delete it: --force",
        )
