"""`scopes setup --status`: where the skill is installed, for the user and for the current directory, and whether it is
current.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from scopes.errors import Inaccessible, Refused
from scopes.handover.skills import (
    FOLDERS,
    checksum_of,
    is_ours,
    path_of,
    read_shipped,
    read_skill,
    users_of,
    written_checksum,
)
from scopes.hosts.agents import UserDirectories, target_named
from scopes.hosts.install_state import InstallState, columns_of, remark_outdated
from scopes.result import Result


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


def skills_status(directories: UserDirectories, names: Sequence[str] = ()) -> SkillsStatus:
    """Return how the skills of some targets are, of all without names: for the user, then for the project if there is
    one.

    Raises:
        Invalid: there is no such target.
    """
    targets = [target_named(name) for name in names] or list(FOLDERS)
    states = [state for target in targets for state in _states_of(target, directories)]
    return SkillsStatus(skills=tuple(states))


def _states_of(target: str, directories: UserDirectories) -> Iterator[InstallState]:
    user = path_of(target, directories, project=False)
    yield _state_of(InstallState(target, "missing", user))
    project = path_of(target, directories, project=True)
    if project != user:
        state = _state_of(InstallState(target, "missing", project, in_project=True))
        if state.condition != "missing":
            yield state


def _state_of(state: InstallState) -> InstallState:
    """Return how a file is; one that cannot be read is a condition, not an error."""
    try:
        text = read_skill(state.file)
    except (Refused, Inaccessible) as error:
        return state._replace(condition="unreadable", detail=error.message)
    if text is None:
        return state
    if not is_ours(text):
        return state._replace(detail="another skill has this name")
    current, written = checksum_of(read_shipped()), written_checksum(text)
    is_edited = checksum_of(text) not in {current, written}
    details = ["it was edited after scopes had written it"] if is_edited else []
    if current not in {checksum_of(text), written}:
        force = " --force" if is_edited else ""
        project = " --here" if state.in_project else ""
        detail = "; ".join([*details, "it is of another version of scopes"])
        cure = f"scopes setup {quote(state.target)} --only skill{project}{force}"
        return state._replace(condition="outdated", detail=detail, cure=cure)
    users = users_of(text)
    if users and state.target not in users:
        details.append(f"it was installed for {', '.join(users)}: the folder is shared")
    return state._replace(condition="installed", detail="; ".join(details))
