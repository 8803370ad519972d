"""Export the commits of a conversation as records of Agent Trace 0.1 (agent-trace.dev), one for each commit.

A record names the lines of the commit that the conversation wrote (`commit_lines`). How sure the links are is in
`metadata`, the only place where a record may have fields of its own. On request the records become notes of the
project's repository (`commit_notes`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

from scopes import __version__
from scopes.clock import format_seconds
from scopes.code_links.link import CommitId
from scopes.code_links.linked_commits import LinkedCommit
from scopes.code_links.project_commits import AddedLine
from scopes.exporters.commit_lines import CommitRequest, ConversationCommits, open_commits
from scopes.exporters.commit_notes import NOTES_REF, TracesNoted, write_notes
from scopes.exporters.export import Exported, ExportedFile
from scopes.history.handles import read_uuid
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import gate_of
from scopes.store.repository import Prunes, Repository, again_after_prunes
from scopes.store.transactions import unless_pruned

AGENT_TRACE: Final = "agent-trace"
VERSION: Final = "0.1"
METADATA: Final = "dev.scopes"
_PROVIDERS: Final = {"claude": "anthropic", "gpt": "openai", "gemini": "google", "qwen": "alibaba"}


def export_traces(repository: Repository, request: CommitRequest) -> Exported:
    """Export a record for each commit of the project around a directory that a conversation made or wrote lines of.

    Raises:
        NotFound: there is no such conversation, or no git repository around the directory.
        Inaccessible: git is not installed, or cannot read the project.
        SecretsFound: a record has possible secrets, and they are refused.
    """
    prunes = Prunes(repository.path)
    with open_commits(repository, request) as (commits, linked):
        gate, uuid = gate_of(repository, request.secrets), read_uuid(repository, commits.name)
        lines = [_clear(commits, uuid, each, gate) for each in linked]
    file = ExportedFile(f"{commits.name}.{AGENT_TRACE}.jsonl", None, lines)
    return Exported(
        conversation=commits.name,
        format=AGENT_TRACE,
        messages=None,
        files=(file,),
        gate=gate,
        unless_purged=partial(unless_pruned, repository, prunes),
    )


def note_traces(repository: Repository, request: CommitRequest, ref: str = NOTES_REF) -> TracesNoted:
    """Write these records as notes of the commits into the project's repository; a note of scopes is replaced.

    Raises:
        As `export_traces`; Inaccessible also if git cannot write notes; Busy if something is purged each time.
    """
    return again_after_prunes(repository.path, lambda: _note_traces(repository, request, ref))


def _note_traces(repository: Repository, request: CommitRequest, ref: str) -> TracesNoted:
    repository.forget_pruned()
    allowed = partial(unless_pruned, repository, Prunes(repository.path))
    with open_commits(repository, request) as (commits, linked):
        gate, uuid = gate_of(repository, request.secrets), read_uuid(repository, commits.name)
        records = [(each.facts.commit, _clear(commits, uuid, each, gate, indent=1)) for each in linked]
        return write_notes(commits.git, commits.name, ref, records, gate, allowed=allowed)


def _record(commits: ConversationCommits, uuid: str, linked: LinkedCommit) -> dict[str, Any]:
    """Return the record of a commit."""
    contributor = {"type": "ai"}
    model = _with_provider(commits.model(linked))
    if model is not None:
        contributor["model_id"] = model
    conversation = {"url": f"urn:uuid:{uuid}", "contributor": contributor}
    return {
        "version": VERSION,
        "id": _record_id(linked.facts.commit, uuid),
        "timestamp": linked.facts.authored or format_seconds(0),
        "vcs": {"type": "git", "revision": linked.facts.commit},
        "tool": {"name": "scopes", "version": __version__},
        "files": [
            {"path": path, "conversations": [{**conversation, "ranges": ranges}]}
            for path, lines in commits.lines_by_path(linked)
            if (ranges := list(_ranges(lines)))
        ],
        "metadata": {METADATA: {"links": [{"role": each.role, "level": each.level} for each in commits.links(linked)]}},
    }


def _with_provider(model: str | None) -> str | None:
    """Return a model with its provider, as models.dev names it; None if that is not known."""
    provider = next((name for start, name in _PROVIDERS.items() if (model or "").startswith(start)), None)
    return f"{provider}/{model}"[:250] if provider is not None else None


def _clear(
    commits: ConversationCommits, uuid: str, linked: LinkedCommit, gate: Gate, indent: int | None = None
) -> Cleared:
    """Return the record of a commit as it may leave, in one line, or indented."""
    place = f"the record of commit {linked.facts.commit[:8]}"
    record = gate.clear_document(_record(commits, uuid, linked), place)
    text = json.dumps(record, ensure_ascii=False, indent=indent) + ("\n" if indent is None else "")
    return gate.clear(text.encode("utf-8", "backslashreplace"), place)


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
