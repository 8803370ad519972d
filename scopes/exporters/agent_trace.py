"""Export the commits of a conversation as records of Agent Trace 0.1 (agent-trace.dev), one for each commit.

A record names the lines of the commit that the conversation wrote, the same ones that `why` calls certain or likely,
or those of another session than the one that committed. How sure the links are is in `metadata`,
the only place where a record may have fields of its own. On request the records become notes of the project's
repository, under a ref of scopes and never under that of another program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from scopes import __version__
from scopes.clock import format_seconds
from scopes.code_links.commit_lines import lines_of, match_commit
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.link import CommitId
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, open_linker
from scopes.code_links.project_commits import AddedLine
from scopes.code_links.project_git import ProjectGitFailed
from scopes.code_links.turns import list_turn_messages
from scopes.conversation.show_commits import show_commits
from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.exporters.export import Exported, ExportedFile
from scopes.history.conversations import read_uuid
from scopes.history.messages import read_body
from scopes.history.revisions import list_branch_tips
from scopes.ids import ConversationId, MessageId
from scopes.result import Result
from scopes.secret_scan.clearance import Gate, Mode
from scopes.secrets.gates import gate_of, redacted_notes
from scopes.store.repository import Repository

AGENT_TRACE: Final = "agent-trace"
NOTES_REF: Final = "refs/notes/scopes"
VERSION: Final = "0.1"
METADATA: Final = "dev.scopes"
_PROVIDERS: Final = {"claude": "anthropic", "gpt": "openai", "gemini": "google", "qwen": "alibaba"}
_IDENTITY: Final = ("-c", "user.name=scopes", "-c", "user.email=scopes@localhost")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesNoted(Result):
    """Records were written as notes into the repository of the project.

    ref: where they are; `git log --notes=scopes` shows them
    commits: the commits that have one now
    """

    conversation: ConversationId
    ref: str
    commits: tuple[CommitId, ...]


def export_traces(
    repository: Repository,
    conversation: str,
    *,
    directory: str,
    index_directory: str,
    on_progress: Progress = lambda _done, _all: None,
    secrets: Mode = "refuse",
) -> Exported:
    """Export a record for each commit of the project around a directory that a conversation made or wrote lines of.

    Raises:
        NotFound: there is no such conversation, or no git repository around the directory.
        Inaccessible: git is not installed, or cannot read the project.
        SecretsFound: a record has possible secrets, and they are refused.
    """
    name, records = _make_records(repository, conversation, directory, index_directory, on_progress)
    gate = gate_of(repository, secrets)
    lines = [gate.clear(_encode(_cleared(record, commit, gate)) + b"\n", commit) for commit, record in records]
    file = ExportedFile(f"{name}.{AGENT_TRACE}.jsonl", None, lines)
    return Exported(conversation=name, format=AGENT_TRACE, messages=None, files=(file,), gate=gate)


def note_traces(
    repository: Repository,
    conversation: str,
    *,
    directory: str,
    index_directory: str,
    on_progress: Progress = lambda _done, _all: None,
    secrets: Mode = "refuse",
) -> TracesNoted:
    """Write these records as notes of the commits into the project's repository; a note of scopes is replaced.

    Raises:
        As `export_traces`.
    """
    name, records = _make_records(repository, conversation, directory, index_directory, on_progress)
    gate = gate_of(repository, secrets)
    notes = [(commit, gate.clear(_encode(_cleared(each, commit, gate), indent=1), commit)) for commit, each in records]
    with open_linker(repository, index_directory, directory) as linker:
        for commit, note in notes:
            words = ("notes", f"--ref={NOTES_REF}", "add", "-f", "-F", "-", commit)
            try:
                linker.git.run(*_IDENTITY, *words, stdin=note.data)
            except ProjectGitFailed as error:
                raise Inaccessible(f"git cannot write the note: {error}", hint="see: git notes") from error
    commits = tuple(commit for commit, _ in records)
    return TracesNoted(conversation=name, ref=NOTES_REF, commits=commits, notes=redacted_notes(gate.redacted))


def _make_records(
    repository: Repository, conversation: str, directory: str, index_directory: str, on_progress: Progress
) -> tuple[ConversationId, list[tuple[CommitId, dict[str, Any]]]]:
    shown = show_commits(
        repository, conversation, directory=directory, index_directory=index_directory, on_progress=on_progress
    )
    commits = [row.commit for row in shown.commits if not row.is_gone]
    with open_linker(repository, index_directory, directory) as linker:
        writer = _RecordWriter(repository, linker, shown.conversation)
        return shown.conversation, [(each.facts.commit, writer.record(each)) for each in linker.link(commits)]


class _RecordWriter:
    def __init__(self, repository: Repository, linker: CommitLinker, conversation: ConversationId) -> None:
        self._repository = repository
        self._index: EditIndex = linker.index
        self._name = conversation
        self._uuid = read_uuid(repository, conversation)
        tips = list_branch_tips(repository, conversation).values()
        self._heads = {each.head.id: each.head for each in list_turn_messages(repository, tips)}

    def record(self, linked: LinkedCommit) -> dict[str, Any]:
        """Return the record of a commit."""
        links = [link for link in best_links(linked.links) if link.conversation == self._name]
        contributor = {"type": "ai"}
        model = next((model for link in links if (model := self._model(link.message)) is not None), None)
        if model is not None:
            contributor["model_id"] = model
        conversation = {"url": f"urn:uuid:{self._uuid}", "contributor": contributor}
        return {
            "version": VERSION,
            "id": _record_id(linked.facts.commit, self._uuid),
            "timestamp": linked.facts.authored or format_seconds(0),
            "vcs": {"type": "git", "revision": linked.facts.commit},
            "tool": {"name": "scopes", "version": __version__},
            "files": [
                {"path": path, "conversations": [{**conversation, "ranges": ranges}]}
                for path, lines in self._lines_by_path(linked)
                if (ranges := list(_ranges(lines)))
            ],
            "metadata": {METADATA: {"links": [{"role": each.role, "level": each.level} for each in links]}},
        }

    def _lines_by_path(self, linked: LinkedCommit) -> Iterator[tuple[str, Iterator[AddedLine]]]:
        """Yield the files of a commit with the lines that the conversation wrote, as `why` tells it."""
        if linked.added is not None:
            for path, matched in match_commit(self._index, linked.added, linked.links):
                yield path, lines_of(matched, self._name)

    def _model(self, message: str | None) -> str | None:
        """Return the model of a message with its provider, as models.dev names it; None if that is not known."""
        head = None if message is None else self._heads.get(MessageId(message))
        try:
            model = None if head is None else read_body(self._repository, head).model
        except (Corrupt, NotFound):
            return None
        provider = next((name for start, name in _PROVIDERS.items() if (model or "").startswith(start)), None)
        return f"{provider}/{model}"[:250] if provider is not None else None


def _cleared(record: dict[str, Any], commit: CommitId, gate: Gate) -> dict[str, Any]:
    cleared: dict[str, Any] = gate.clear_document(record, f"the record of commit {commit[:8]}")
    return cleared


def _encode(record: dict[str, Any], indent: int | None = None) -> bytes:
    return json.dumps(record, ensure_ascii=False, indent=indent).encode("utf-8", "backslashreplace")


def _ranges(lines: Iterable[AddedLine]) -> Iterator[dict[str, Any]]:
    """Yield the ranges of adjacent lines."""
    run: list[AddedLine] = []
    for line in lines:
        if run and line.number != run[-1].number + 1:
            yield _range(run)
            run = []
        run.append(line)
    if run:
        yield _range(run)


def _range(lines: Sequence[AddedLine]) -> dict[str, Any]:
    text = "\n".join(line.text for line in lines)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"start_line": lines[0].number, "end_line": lines[-1].number, "content_hash": f"sha256:{digest}"}


def _record_id(commit: CommitId, uuid: str) -> str:
    """Return the same id for the same commit and conversation, a uuid of version 8."""
    octets = bytearray(sha256(f"agent-trace\0{commit}\0{uuid}".encode()).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
