"""Open a commit of the project that a revision names, with its links to conversations: for `--commit REV`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from scopes.code_links.commit_facts import CommitFacts, resolve_commit
from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.link import CodeLink
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, conversations_of, open_linker
from scopes.errors import Inaccessible, NotFound
from scopes.history.revisions import resolve_conversation
from scopes.hosts.agents import import_hint
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRequest:
    """Which commit is asked for.

    revision: the commit, as git names it, in the project around `directory`
    index_directory: where the index of edits is
    conversation: only links with this conversation count; None for all
    on_progress: gets the conversations that are read into the index
    """

    revision: str
    directory: str
    index_directory: str
    conversation: str | None = None
    on_progress: Progress = lambda _done, _all: None


@dataclass(frozen=True, slots=True)
class LinkedRevision:
    """A commit, its links that are more than candidates, the surest first, and what found them."""

    linker: CommitLinker
    commit: LinkedCommit
    links: tuple[CodeLink, ...]


@contextmanager
def open_revision(repository: Repository, request: RevisionRequest) -> Iterator[LinkedRevision]:
    """Find a commit of the project and its links; the project and the index are open until the block ends.

    Raises:
        NotFound: there is no such commit or conversation, or no conversation is linked to the commit.
        Inaccessible: git is not installed, or cannot read the project.
    """
    wanted = None if request.conversation is None else resolve_conversation(repository, request.conversation)
    with open_linker(repository, request.index_directory, request.directory, request.on_progress) as linker:
        linked = _link(linker, request.revision)
        yield LinkedRevision(linker, linked, _require_links(linked, wanted))


def _link(linker: CommitLinker, revision: str) -> LinkedCommit:
    """Return the commit that a revision of the project names, with its links.

    Raises:
        NotFound: it names none.
        Inaccessible: git cannot read it.
    """
    commit = resolve_commit(linker.git, revision)
    linked = next(linker.link([commit]), None)
    if linked is None:
        raise Inaccessible(f"the commit {commit[:8]} cannot be read", hint="see: git fsck")
    return linked


def _require_links(linked: LinkedCommit, wanted: ConversationId | None) -> tuple[CodeLink, ...]:
    """Return the links of a commit that are more than candidates; only those with a conversation if it is given.

    Raises:
        NotFound: there is none; the error says what is known instead.
    """
    links = best_links(linked.links)
    if wanted is not None:
        links = tuple(link for link in links if link.conversation == wanted)
    if links:
        return links
    name = name_commit(linked.facts)
    if linked.unknown:
        record = linked.unknown[0]
        raise NotFound(f"{name} was made by {_describe(record)}", hint=import_hint(record.tool or ""))
    other = conversations_of(link for link in linked.links if wanted is None or link.conversation != wanted)
    if wanted is not None and other:
        raise NotFound(f"{wanted} is not linked to {name}", hint=f"perhaps: {', '.join(other[:5])}")
    hint = f"perhaps: {', '.join(other[:5])}" if other else "if an agent wrote it, import its session: scopes import"
    raise NotFound(f"no session is known to have written {name}", hint=hint)


def _describe(record: CommitRecord) -> str:
    if record.session is None:
        return f"a session of {record.tool}, which does not tell its commands which one it is"
    return f"the session {record.session} of {record.tool}, which is not in the store"


def note_likely(links: Sequence[CodeLink]) -> tuple[Note, ...]:
    """Return a note for each conversation whose links with a commit are likely only, with the evidence."""
    best = {link.conversation: link for link in reversed(links)}  # the surest one comes first
    unsure = [best[name] for name in conversations_of(links) if best[name].level != "certain"]
    return tuple(
        Note(
            f"the link of the commit with {link.conversation} is only {link.level}: "
            + "; ".join(evidence.text for evidence in link.evidence)
        )
        for link in unsure
    )


def name_commit(facts: CommitFacts) -> str:
    """Return a commit as errors and notes name it."""
    return f"commit {facts.commit[:8]} {facts.subject!a}"
