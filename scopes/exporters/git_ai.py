"""Write the commits of a conversation as notes of git-ai: its authorship log, version 3.0.0.

A note has two parts. The first one has the paths, and below each one, indented, the session and the lines that it
wrote. After `---` follows JSON with the sessions. The id of a session is a hash of its tool and its id, as git-ai makes
it (docs/migrations/sessions-v2-note-format.md of git-ai-project/git-ai). A session that no agent has kept has the tool
`scopes` and the UUID of the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from scopes.code_links.foreign_notes import MAX_BYTES, SCOPES_TOOL, git_ai_name
from scopes.code_links.link import CommitId
from scopes.code_links.linked_commits import LinkedCommit
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.errors import NotFound
from scopes.exporters.commit_lines import CommitRequest, ConversationCommits, open_commits
from scopes.exporters.commit_notes import NOTES_REF, TracesNoted, list_notes, write_notes
from scopes.history.messages import read_root_of
from scopes.history.names import find_root_commit
from scopes.ids import ConversationId
from scopes.secrets.gates import gate_of
from scopes.store.objects import read_commit
from scopes.store.repository import Prunes, Repository, again_after_prunes
from scopes.store.transactions import unless_pruned

SCHEMA_VERSION: Final = "authorship/3.0.0"
_SEPARATOR: Final = "\n---\n"
_ID_DIGITS: Final = 14
_RANGES_IN_LINE: Final = 200
_UNKNOWN_MODEL: Final = "unknown"


class NotedSession(NamedTuple):
    """A session as git-ai names it: the tool, and the id that the tool gave it."""

    tool: str
    id: str

    @property
    def key(self) -> str:
        """The id of the session in a note."""
        return f"s_{sha256(f'{self.tool}:{self.id}'.encode('utf-8', 'replace')).hexdigest()[:_ID_DIGITS]}"


class AuthorshipLog(NamedTuple):
    """A note: the lines of the first part below each path, as they are written, and the JSON."""

    entries: dict[str, list[str]]
    document: dict[str, Any]

    def encode(self) -> bytes:
        """Return the bytes of the note."""
        lines = [line for path, entries in self.entries.items() if entries for line in (path, *entries)]
        text = "\n".join([*lines, "---", json.dumps(self.document, ensure_ascii=False, indent=2)]) + "\n"
        return text.encode("utf-8", "backslashreplace")


def note_git_ai(repository: Repository, request: CommitRequest, ref: str = NOTES_REF) -> TracesNoted:
    """Write a note of git-ai for each commit that has lines of a conversation.

    Under our own ref, what a note says about other sessions is kept.

    Raises:
        NotFound: there is no such conversation, or no git repository around the directory.
        Inaccessible: git is not installed, or cannot read or write the project.
        SecretsFound: a note has possible secrets, and they are refused; none is written.
        Busy: something was purged each time.
    """
    return again_after_prunes(repository.path, lambda: _note_git_ai(repository, request, ref))


def _note_git_ai(repository: Repository, request: CommitRequest, ref: str) -> TracesNoted:
    repository.forget_pruned()
    allowed = partial(unless_pruned, repository, Prunes(repository.path))
    with open_commits(repository, request) as (commits, linked):
        gate, session = gate_of(repository, request.secrets), find_noted_session(repository, commits.name)
        known = list_notes(commits.git, ref) if ref == NOTES_REF else {}
        notes = [
            (commit, gate.clear(data, f"the note of commit {commit[:8]}"))
            for commit, data in _walk_notes(commits, linked, session, known)
        ]
        return write_notes(commits.git, commits.name, ref, notes, gate, allowed=allowed)


def find_noted_session(repository: Repository, conversation: ConversationId) -> NotedSession:
    """Return the session of a conversation: that of its agent, or one of scopes.

    Raises:
        NotFound: the conversation has no root.
    """
    oid = find_root_commit(repository, conversation)
    if oid is None:
        raise NotFound(f"the root of {conversation} is damaged", hint="see: scopes verify")
    root = read_root_of(repository, read_commit(repository, oid), oid)
    tool = None if root.format is None else git_ai_name(root.format)
    if tool is None or root.native_id is None:
        return NotedSession(SCOPES_TOOL, root.uuid)
    return NotedSession(tool, root.native_id)


def _walk_notes(
    commits: ConversationCommits, linked: Iterable[LinkedCommit], session: NotedSession, known: Mapping[CommitId, str]
) -> Iterator[tuple[CommitId, bytes]]:
    for each in linked:
        commit = each.facts.commit
        lines = {path: numbers for path, added in commits.lines_by_path(each) if (numbers := [a.number for a in added])}
        if lines:
            log = _read_log(commits.git, known.get(commit)) or AuthorshipLog({}, {})
            _replace_session(log, session, commit, lines, commits.model(each) or _UNKNOWN_MODEL)
            yield commit, log.encode()


def _replace_session(
    log: AuthorshipLog, session: NotedSession, commit: CommitId, lines: Mapping[str, list[int]], model: str
) -> None:
    """Put the lines of a session into a log, in place of those that it has there."""
    for path, entries in log.entries.items():
        log.entries[path] = [each for each in entries if each.split()[0].partition("::")[0] != session.key]
    trace = sha256(f"{commit}:{session.key}".encode()).hexdigest()[:_ID_DIGITS]
    for path, numbers in lines.items():
        if (header := _path_line(path)) is not None:
            log.entries.setdefault(header, []).extend(
                f"  {session.key}::t_{trace} {ranges}" for ranges in _range_lists(numbers)
            )
    sessions = log.document.get("sessions")
    own = {session.key: {"agent_id": {"tool": session.tool, "id": session.id, "model": model}}}
    others = sessions if isinstance(sessions, dict) else {}
    log.document.update(
        schema_version=SCHEMA_VERSION, base_commit_sha=commit, prompts=log.document.get("prompts", {}),
        sessions={**others, **own},
    )  # fmt: skip


def _read_log(git: ProjectGit, blob: str | None) -> AuthorshipLog | None:
    """Return the note in a blob; None if there is none, or it is no note of git-ai."""
    data = b""
    with suppress(ProjectGitFailed, ValueError):
        if blob is not None and int(git.run("cat-file", "-s", blob)) <= MAX_BYTES:
            data = git.run("cat-file", "blob", blob)
    head, _, rest = f"\n{data.decode('utf-8', 'replace')}".partition(_SEPARATOR)
    try:
        document = json.loads(rest)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        return None
    log = AuthorshipLog({}, document)
    entries: list[str] = []
    for line in head.split("\n"):
        if line.startswith((" ", "\t")):
            entries += [line] if line.strip() else []
        elif line:
            entries = log.entries.setdefault(line, [])
    return log


def _path_line(path: str) -> str | None:
    """Return the line of a path, in quotation marks if it has blanks; None if it has a line break."""
    if "\n" in path or "\r" in path:
        return None
    return f'"{path}"' if any(map(str.isspace, path)) else path


def _range_lists(numbers: list[int]) -> Iterator[str]:
    """Yield ranges of adjacent line numbers such as `1-4,7`, a few hundred in one text."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    for start in range(0, len(texts), _RANGES_IN_LINE):
        yield ",".join(texts[start : start + _RANGES_IN_LINE])
