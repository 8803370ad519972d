"""What is known of commits before anything is searched: records, and claims of trailers, notes and Agent Trace.

A claim may be copied, stale or forged: it links nothing by itself, and is a candidate at most.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Final

from scopes.code_links.commit_facts import CommitFacts, read_commit_facts
from scopes.code_links.commit_record import CommitRecord, is_commit_id
from scopes.code_links.foreign_notes import MAX_BYTES, SessionClaim, note_keys, parse_note, parse_trace
from scopes.code_links.link import CodeLink, CommitId, Evidence
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.code_links.recorded_links import RecordedCommits, resolve_session
from scopes.code_links.turns import list_turn_messages
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.names import find_copies
from scopes.history.sources import SOURCES, read_source_record, source_key
from scopes.ids import ConversationId, Oid
from scopes.regular_file import read_regular
from scopes.result import Note, plural
from scopes.store.repository import Repository

# The program that keeps notes under a ref: `scopes export --notes` writes those of scopes, in any form.
NOTES_REFS: Final = {"refs/notes/ai": "git-ai", "refs/notes/scopes": "a note of scopes"}
FETCH_HINT: Final = "get it from whoever has it: scopes fetch, or scopes fetch FILE.bundle"
TRACE_FILE: Final = os.path.join(".agent-trace", "traces.jsonl")
_MAX_TRACE_BYTES: Final = 16 << 20
_MAX_TURNS: Final = 20  # trailers of one commit that are looked up


class KnownLinks:
    """Answers for the commits of one project; facts of commits are read once."""

    def __init__(self, repository: Repository, git: ProjectGit, recorded: RecordedCommits) -> None:
        self.recorded = recorded
        self._repository = repository
        self._git = git
        self._facts: dict[CommitId, CommitFacts] = {}
        self._sessions: dict[str, ConversationId | None] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What could not be read so far."""
        return self.recorded.notes

    def read_facts(self, commits: Iterable[CommitId]) -> dict[CommitId, CommitFacts]:
        """Return what commits say about themselves, in their order; those that the project has not are left out."""
        wanted = list(dict.fromkeys(commits))
        self._facts |= read_commit_facts(self._git, [each for each in wanted if each not in self._facts])
        return {each: self._facts[each] for each in wanted if each in self._facts}

    def links_of(self, commit: CommitId) -> tuple[CodeLink, ...]:
        """Return the links of a commit: recorded ones, then what is claimed, as candidates."""
        facts = self.read_facts([commit]).get(commit)
        links = self.recorded.links_of_commit(commit, None if facts is None else facts.identity).links
        claims = (*(() if facts is None else self._trailer_links(facts)), *self._claimed_links(commit))
        return (*links, *claims)

    def unknown_of(self, commit: CommitId) -> tuple[CommitRecord, ...]:
        """Return the records of a commit whose sessions are not in the store."""
        facts = self._facts.get(commit)
        return self.recorded.links_of_commit(commit, None if facts is None else facts.identity).unknown

    def unknown_claims_of(self, commit: CommitId) -> tuple[SessionClaim, ...]:
        """Return what notes and records of others say about a commit whose sessions are not in the store."""
        claims = (*self._read_notes(commit), *self._traces.get(commit, ()))
        return tuple(claim for claim in claims if self._find_conversation(claim) is None)

    def _trailer_links(self, facts: CommitFacts) -> Iterator[CodeLink]:
        for name in facts.turns[:_MAX_TURNS]:
            copies = []
            with suppress(ScopesError):
                copies = find_copies(self._repository, name)
            for revision in copies[:1]:
                turn = list_turn_messages(self._repository, [revision.oid])[-1]
                link = _candidate(
                    facts.commit, revision.conversation, Evidence("trailer", f"trailer Scopes-Turn: {name}")
                )
                yield replace(link, role="made", message=turn.head.id, turn=turn.number)

    def _claimed_links(self, commit: CommitId) -> Iterator[CodeLink]:
        for claim in (*self._read_notes(commit), *self._traces.get(commit, ())):
            conversation = self._find_conversation(claim)
            if conversation is not None:
                lines = f"{claim.lines:,} {plural(claim.lines, 'line')}" if claim.lines else "lines"
                yield _candidate(commit, conversation, Evidence("note", f"{claim.program}: {lines} of this session"))

    def _read_notes(self, commit: CommitId) -> Iterator[SessionClaim]:
        for program, blob in self._note_blobs.get(commit, ()):
            with suppress(ProjectGitFailed, ValueError):
                if int(self._git.run("cat-file", "-s", blob)) <= MAX_BYTES:
                    data = self._git.run("cat-file", "blob", blob)
                    record = parse_trace(data)
                    claims = parse_note(data) if record is None or record[0] != commit else record[1]
                    yield from (claim._replace(program=program) for claim in claims)

    @cached_property
    def _note_blobs(self) -> dict[CommitId, list[tuple[str, str]]]:
        """The notes that say who wrote a commit, by commit, each with the program that keeps it."""
        found: dict[CommitId, list[tuple[str, str]]] = {}
        for ref, program in NOTES_REFS.items():
            if self._git.find("rev-parse", "--verify", "--quiet", f"{ref}^{{tree}}") is None:
                continue
            with suppress(ProjectGitFailed):
                for line in self._git.run("notes", f"--ref={ref}", "list").decode("ascii", "replace").splitlines():
                    blob, _, commit = line.partition(" ")
                    if is_commit_id(blob) and is_commit_id(commit):
                        found.setdefault(CommitId(commit), []).append((program, blob))
        return found

    @cached_property
    def _traces(self) -> dict[CommitId, list[SessionClaim]]:
        """What the records of Agent Trace in the working tree say, by commit."""
        top = self._git.repository.top
        found: dict[CommitId, list[SessionClaim]] = {}
        data = b""
        with suppress(OSError, ValueError):
            data = b"" if top is None else read_regular(os.path.join(top, TRACE_FILE), _MAX_TRACE_BYTES)
        for line in data.split(b"\n"):
            record = parse_trace(line) if line.strip() else None
            if record is not None and is_commit_id(record[0]):
                found.setdefault(CommitId(record[0]), []).extend(record[1])
        return found

    def _find_conversation(self, claim: SessionClaim) -> ConversationId | None:
        """Return the conversation of a session that a program names; None if the store does not have it."""
        if claim.uuid is not None:
            return self._resolve(claim.uuid if "-" in claim.uuid else "")
        if claim.tool is not None and claim.session is not None:
            found = self._resolve(source_key(claim.tool, claim.session, None))
            if found is not None:
                return found
        key = self._keys_of_notes.get(claim.key) if claim.key is not None else None
        return None if key is None else self._resolve(key)

    def _resolve(self, key: str) -> ConversationId | None:
        if key not in self._sessions:
            self._sessions[key] = None
            with suppress(NotFound, Corrupt):
                found = resolve_session(self._repository, key) if key else None
                self._sessions[key] = None if found is None else found[0]
        return self._sessions[key]

    @cached_property
    def _keys_of_notes(self) -> dict[str, str]:
        """The keys of sources by what git-ai calls their sessions."""
        found = {}
        for ref, value in self._repository.list_refs(SOURCES).items():
            with suppress(NotFound, Corrupt):
                record = read_source_record(self._repository, Oid(value))
                for name in note_keys(record.format, record.native_id) if record.part is None else ():
                    found[name] = ref.removeprefix(SOURCES)
        return found


def _candidate(commit: CommitId, conversation: ConversationId, evidence: Evidence) -> CodeLink:
    return CodeLink(commit=commit, conversation=conversation, role="wrote", level="candidate", evidence=(evidence,))
