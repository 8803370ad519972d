"""Write notes of commits into the repository of the user's project: under a ref of scopes, or one that the user names.

Under our own ref a note is replaced. Under any other one a note that is there is kept: it is what another program
knows, and to lose it is the most frequent complaint about such programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from scopes.code_links.commit_record import is_commit_id
from scopes.code_links.link import CommitId
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.errors import Inaccessible, Invalid
from scopes.ids import ConversationId
from scopes.result import Note, Result, counted, plural
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import redacted_notes

NOTES: Final = "refs/notes/"
NOTES_REF: Final = f"{NOTES}scopes"
_IDENTITY: Final = ("-c", "user.name=scopes", "-c", "user.email=scopes@localhost")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesNoted(Result):
    """Records were written as notes into the repository of the project.

    ref: where they are; `git log --notes=scopes` shows them
    commits: the commits that got one
    """

    conversation: ConversationId
    ref: str
    commits: tuple[CommitId, ...]

    @property
    def sentence(self) -> str:
        """How many notes were written."""
        return f"wrote {counted(len(self.commits), 'note')} into {self.ref} of the project"

    @property
    def answer(self) -> str:
        """The commits."""
        return "\n".join(self.commits)

    @property
    def next_step(self) -> str:
        """How to see the notes."""
        return f"see them: git log --notes={self.ref.removeprefix('refs/notes/')}" if self.commits else ""


def read_notes_ref(text: str | None) -> str:
    """Return the ref of notes that a user names as git does, with or without `refs/notes/`; ours for None.

    Raises:
        Invalid: it is no name of a ref.
    """
    if text is None:
        return NOTES_REF
    name = text.removeprefix(NOTES)
    if not _NAME.fullmatch(name) or ".." in name or any(part.endswith((".lock", ".")) for part in name.split("/")):
        raise Invalid(f"{text!a} is not the name of a ref of notes", hint="for example: refs/notes/ai")
    return NOTES + name


def list_notes(git: ProjectGit, ref: str) -> dict[CommitId, str]:
    """Return the blobs of the notes under a ref by commit; none if there is no such ref."""
    if git.find("rev-parse", "--verify", "--quiet", f"{ref}^{{tree}}") is None:
        return {}
    found = {}
    try:
        lines = git.run("notes", f"--ref={ref}", "list").decode("ascii", "replace").splitlines()
    except ProjectGitFailed as error:
        raise Inaccessible(f"git cannot read the notes: {error}", hint="see: git notes") from error
    for line in lines:
        blob, _, commit = line.partition(" ")
        if is_commit_id(blob) and is_commit_id(commit):
            found[CommitId(commit)] = blob
    return found


def write_notes(
    git: ProjectGit,
    conversation: ConversationId,
    ref: str,
    notes: Iterable[tuple[CommitId, Cleared]],
    gate: Gate,
    *,
    allowed: Callable[[], AbstractContextManager[None]],
) -> TracesNoted:
    """Write notes of commits that passed a gate, and tell which got one.

    `allowed` holds off a purge while a note is written, and raises Busy if one has run since the notes were made.

    Raises:
        Inaccessible: git cannot read or write notes.
    """
    known: Mapping[CommitId, str] = {} if ref == NOTES_REF else list_notes(git, ref)
    written, kept = [], 0
    for commit, note in notes:
        if commit in known:
            kept += 1
            continue
        words = ("notes", f"--ref={ref}", "add", "-f", "-F", "-", commit)
        try:
            with allowed():
                git.run(*_IDENTITY, *words, stdin=note.data)
        except ProjectGitFailed as error:
            raise Inaccessible(f"git cannot write the note: {error}", hint="see: git notes") from error
        written.append(commit)
    text = f"{kept} {plural(kept, 'commit')} had a note in {ref} already, which stays as it is"
    shown = (*((Note(text),) if kept else ()), *redacted_notes(gate.redacted))
    return TracesNoted(conversation=conversation, ref=ref, commits=tuple(written), notes=shown)
