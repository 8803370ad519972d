"""The commits of a project that a conversation made or wrote lines of: records of them, and notes for git.

A record of Agent Trace 0.1 (agent-trace.dev) names the lines of a commit that the conversation wrote. How sure the
links are is in `metadata`, the only place where a record may have fields of its own. A note of git-ai, its authorship
log 3.0.0, has two parts: paths with the session and its lines below each; after `---` JSON with the sessions. The id of
a session is a hash of its tool and its id, as git-ai makes it (docs/migrations/sessions-v2-note-format.md of
git-ai-project/git-ai); a session that no agent has kept has the tool `scopes` and the UUID of the conversation.

The lines are the ones that `why` calls certain or likely, or those of another session than the one that committed.
Notes are written under a ref of scopes only: what other programs know about a commit stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from scopes import __version__
from scopes.clock import format_seconds
from scopes.code_links.commit_lines import lines_of, match_commit
from scopes.code_links.commit_record import is_commit_id
from scopes.code_links.foreign_notes import MAX_BYTES, SCOPES_TOOL, git_ai_name
from scopes.code_links.link import CodeLink, CommitId
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, open_linker
from scopes.code_links.project_commits import AddedLine
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.code_links.turns import list_turn_messages
from scopes.conversation.commits import show_commits
from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.exporters.export import Exported, ExportedFile
from scopes.history.handles import read_uuid
from scopes.history.messages import read_body, read_root_of
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.ids import ConversationId, MessageId
from scopes.result import Result, counted
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of, redacted_notes
from scopes.store.objects import read_commit
from scopes.store.repository import Prunes, Repository, again_after_prunes
from scopes.store.transactions import unless_pruned

AGENT_TRACE: Final = "agent-trace"
GIT_AI: Final = "git-ai"
NOTES_REF: Final = "refs/notes/scopes"
_TRACE_VERSION: Final = "0.1"
_METADATA: Final = "dev.scopes"
_LOG_VERSION: Final = "authorship/3.0.0"
_SEPARATOR: Final = "\n---\n"
_ID_DIGITS: Final = 14
_RANGES_IN_LINE: Final = 200
_UNKNOWN_MODEL: Final = "unknown"
_PROVIDERS: Final = {"claude": "anthropic", "gpt": "openai", "gemini": "google", "qwen": "alibaba"}
_IDENTITY: Final = ("-c", "user.name=scopes", "-c", "user.email=scopes@localhost")


class CommitRequest(NamedTuple):
    """Which commits: those of a conversation in the project around a directory, and how secrets are treated."""

    conversation: str
    directory: str
    index_directory: str
    on_progress: Callable[[int, int], None] = lambda _done, _all: None
    secrets: Mode = "refuse"


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


def export_traces(repository: Repository, request: CommitRequest) -> Exported:
    """Export a record of Agent Trace for each commit that a conversation made or wrote lines of, one a line.

    Raises:
        NotFound: there is no such conversation, or no git repository around the directory.
        Inaccessible: git is not installed, or cannot read the project.
        SecretsFound: a record has possible secrets, and they are refused.
    """
    prunes = Prunes(repository.path)
    with _open_commits(repository, request) as (commits, linked):
        gate, uuid = gate_of(repository, request.secrets), read_uuid(repository, commits.name)
        lines = [_clear_trace(commits, uuid, each, gate) for each in linked]
    return Exported(
        conversation=commits.name,
        format=AGENT_TRACE,
        messages=None,
        files=(ExportedFile(f"{commits.name}.{AGENT_TRACE}.jsonl", None, lines),),
        gate=gate,
        unless_purged=partial(unless_pruned, repository, prunes),
    )


def note_commits(repository: Repository, request: CommitRequest, form: str) -> TracesNoted:
    """Write these records, or with `git-ai` its logs, as notes of the commits into the project's repository.

    A note of scopes is replaced; what a log of git-ai there says about other sessions is kept.

    Raises:
        As `export_traces`, before any note is written; Inaccessible also if git cannot write notes; Busy if something
            is purged each time.
    """

    def write() -> TracesNoted:
        repository.forget_pruned()
        prunes = Prunes(repository.path)
        with _open_commits(repository, request) as (commits, linked):
            gate, uuid = gate_of(repository, request.secrets), read_uuid(repository, commits.name)
            if form == GIT_AI:
                notes = list(_walk_logs(repository, commits, linked, gate))
            else:
                notes = [(each.facts.commit, _clear_trace(commits, uuid, each, gate, indent=1)) for each in linked]
            for commit, note in notes:
                try:
                    with unless_pruned(repository, prunes):
                        words = ("notes", f"--ref={NOTES_REF}", "add", "-f", "-F", "-", commit)
                        commits.git.run(*_IDENTITY, *words, stdin=note.data)
                except ProjectGitFailed as error:
                    raise Inaccessible(f"git cannot write the note: {error}", hint="see: git notes") from error
        written = tuple(commit for commit, _ in notes)
        redacted = tuple(redacted_notes(gate.redacted))
        return TracesNoted(conversation=commits.name, ref=NOTES_REF, commits=written, notes=redacted)

    return again_after_prunes(repository.path, write)


class _Commits:
    """The commits of a conversation, and what it wrote of each."""

    def __init__(self, repository: Repository, linker: CommitLinker, name: ConversationId) -> None:
        self.name = name
        self.git = linker.git
        self._repository = repository
        self._index = linker.index
        tips = list_branch_tips(repository, name).values()
        self._heads = {each.head.id: each.head for each in list_turn_messages(repository, tips)}

    def links(self, linked: LinkedCommit) -> list[CodeLink]:
        """Return the links of a commit with the conversation."""
        return [link for link in best_links(linked.links) if link.conversation == self.name]

    def lines_by_path(self, linked: LinkedCommit) -> Iterator[tuple[str, list[AddedLine]]]:
        """Yield the files of a commit in which the conversation wrote lines, with these, as `why` tells it."""
        if linked.added is not None:
            for path, matched in match_commit(self._index, linked.added, linked.links):
                if lines := list(lines_of(matched, self.name)):
                    yield path, lines

    def model(self, linked: LinkedCommit) -> str | None:
        """Return the model of the first linked message that names one; None if none does."""
        for link in self.links(linked):
            head = None if link.message is None else self._heads.get(MessageId(link.message))
            with suppress(Corrupt, NotFound):
                model = None if head is None else read_body(self._repository, head).model
                if model is not None:
                    return model
        return None


@contextmanager
def _open_commits(repository: Repository, request: CommitRequest) -> Iterator[tuple[_Commits, list[LinkedCommit]]]:
    """Open the project, and yield the commits of the conversation, without those that the project has not any more."""
    shown = show_commits(
        repository, request.conversation, directory=request.directory, index_directory=request.index_directory,
        on_progress=request.on_progress,
    )  # fmt: skip
    commits = [row.commit for row in shown.commits if not row.is_gone]
    with open_linker(repository, request.index_directory, request.directory) as linker:
        yield _Commits(repository, linker, shown.conversation), list(linker.link(commits))


def _clear_trace(commits: _Commits, uuid: str, linked: LinkedCommit, gate: Gate, indent: int | None = None) -> Cleared:
    """Return the record of Agent Trace of a commit as it may leave, in one line, or indented."""
    commit = linked.facts.commit
    contributor = {"type": "ai"}
    model = commits.model(linked) or ""
    provider = next((name for start, name in _PROVIDERS.items() if model.startswith(start)), None)
    if provider is not None:
        contributor["model_id"] = f"{provider}/{model}"[:250]  # as models.dev names it
    conversation = {"url": f"urn:uuid:{uuid}", "contributor": contributor}
    record = {
        "version": _TRACE_VERSION,
        "id": _record_id(commit, uuid),
        "timestamp": linked.facts.authored or format_seconds(0),
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "scopes", "version": __version__},
        "files": [
            {"path": path, "conversations": [{**conversation, "ranges": list(map(_hashed_range, _runs(lines)))}]}
            for path, lines in commits.lines_by_path(linked)
        ],
        "metadata": {
            _METADATA: {"links": [{"role": each.role, "level": each.level} for each in commits.links(linked)]}
        },
    }
    place = f"the record of commit {commit[:8]}"
    text = json.dumps(gate.clear_document(record, place), ensure_ascii=False, indent=indent)
    return gate.clear((text + ("\n" if indent is None else "")).encode("utf-8", "backslashreplace"), place)


def _runs(lines: Iterable[AddedLine]) -> Iterator[list[AddedLine]]:
    """Yield runs of adjacent lines."""
    run: list[AddedLine] = []
    for line in lines:
        if run and line.number != run[-1].number + 1:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _hashed_range(run: list[AddedLine]) -> dict[str, Any]:
    text = "\n".join(line.text for line in run)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"start_line": run[0].number, "end_line": run[-1].number, "content_hash": f"sha256:{digest}"}


def _record_id(commit: CommitId, uuid: str) -> str:
    """Return the same id for the same commit and conversation, a uuid of version 8."""
    octets = bytearray(sha256(f"agent-trace\0{commit}\0{uuid}".encode()).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _walk_logs(
    repository: Repository, commits: _Commits, linked: Iterable[LinkedCommit], gate: Gate
) -> Iterator[tuple[CommitId, Cleared]]:
    """Yield the log of git-ai of each commit that has lines of the conversation."""
    tool, native_id = _find_session(repository, commits.name)
    key = f"s_{sha256(f'{tool}:{native_id}'.encode('utf-8', 'replace')).hexdigest()[:_ID_DIGITS]}"
    known = _list_notes(commits.git)
    for each in linked:
        commit, files = each.facts.commit, list(commits.lines_by_path(each))
        if not files:
            continue
        entries, document = _read_log(commits.git, known.get(commit))
        for path, rows in entries.items():
            entries[path] = [row for row in rows if row.split()[0].partition("::")[0] != key]
        trace = sha256(f"{commit}:{key}".encode()).hexdigest()[:_ID_DIGITS]
        for path, lines in files:
            if "\n" not in path and "\r" not in path:  # the format has no way to write them
                header = f'"{path}"' if any(map(str.isspace, path)) else path
                entries.setdefault(header, []).extend(f"  {key}::t_{trace} {text}" for text in _range_texts(lines))
        others = document.get("sessions")
        model = commits.model(each) or _UNKNOWN_MODEL
        own = {key: {"agent_id": {"tool": tool, "id": native_id, "model": model}}}
        document.update(
            schema_version=_LOG_VERSION, base_commit_sha=commit, prompts=document.get("prompts", {}),
            sessions={**(others if isinstance(others, dict) else {}), **own},
        )  # fmt: skip
        rows = [row for path, found in entries.items() if found for row in (path, *found)]
        text = "\n".join([*rows, "---", json.dumps(document, ensure_ascii=False, indent=2)]) + "\n"
        yield commit, gate.clear(text.encode("utf-8", "backslashreplace"), f"the note of commit {commit[:8]}")


def _find_session(repository: Repository, conversation: ConversationId) -> tuple[str, str]:
    """Return the tool and the id of the session of a conversation: that of its agent, or one of scopes."""
    oid = find_root_commit(repository, conversation)
    if oid is None:
        raise NotFound(f"the root of {conversation} is damaged", hint="see: scopes verify")
    root = read_root_of(repository, read_commit(repository, oid), oid)
    tool = None if root.format is None else git_ai_name(root.format)
    return (SCOPES_TOOL, root.uuid) if tool is None or root.native_id is None else (tool, root.native_id)


def _list_notes(git: ProjectGit) -> Mapping[CommitId, str]:
    """Return the blobs of the notes of scopes by commit."""
    if git.find("rev-parse", "--verify", "--quiet", f"{NOTES_REF}^{{tree}}") is None:
        return {}
    try:
        lines = git.run("notes", f"--ref={NOTES_REF}", "list").decode("ascii", "replace").splitlines()
    except ProjectGitFailed as error:
        raise Inaccessible(f"git cannot read the notes: {error}", hint="see: git notes") from error
    pairs = (line.partition(" ") for line in lines)
    return {CommitId(commit): blob for blob, _, commit in pairs if is_commit_id(blob) and is_commit_id(commit)}


def _read_log(git: ProjectGit, blob: str | None) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the rows below each path, and the JSON, of the log in a blob; both empty if there is none in it."""
    data = b""
    with suppress(ProjectGitFailed, ValueError):
        if blob is not None and int(git.run("cat-file", "-s", blob)) <= MAX_BYTES:
            data = git.run("cat-file", "blob", blob)
    head, _, rest = f"\n{data.decode('utf-8', 'replace')}".partition(_SEPARATOR)
    try:
        document = json.loads(rest)
    except (ValueError, RecursionError):
        return {}, {}
    if not isinstance(document, dict) or document.get("schema_version") != _LOG_VERSION:
        return {}, {}
    entries: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in head.split("\n"):
        if line.startswith((" ", "\t")):
            rows += [line] if line.strip() else []
        elif line:
            rows = entries.setdefault(line, [])
    return entries, document


def _range_texts(lines: Iterable[AddedLine]) -> Iterator[str]:
    """Yield ranges of adjacent line numbers such as `1-4,7`, a few hundred in one text."""
    ends = [(run[0].number, run[-1].number) for run in _runs(lines)]
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ends]
    for start in range(0, len(texts), _RANGES_IN_LINE):
        yield ",".join(texts[start : start + _RANGES_IN_LINE])
