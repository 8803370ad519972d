"""Find the turns that a commit of the project is from, for `log --commit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.code_links.commit_facts import CommitFacts, resolve_commit
from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.link import CodeLink, LinkRole
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, conversations_of, open_linker
from scopes.code_links.linked_turns import TurnFinder
from scopes.code_links.turns import list_turn_messages, messages_of_turn
from scopes.errors import Inaccessible, NotFound
from scopes.history.revisions import list_branch_tips, resolve_conversation
from scopes.ids import ConversationId, MessageId
from scopes.result import Note, plural
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]
_ROLES: Final[Mapping[LinkRole, str]] = {"made": "made in", "wrote": "lines written in"}


class CommitTurns(NamedTuple):
    """The messages of the turns in one conversation that a commit is from."""

    conversation: ConversationId
    messages: frozenset[MessageId]
    notes: tuple[Note, ...] = ()


def find_commit_turns(
    repository: Repository,
    revision: str,
    *,
    directory: str,
    index_directory: str,
    conversation: str | None = None,
    on_progress: Progress = lambda _done, _all: None,
) -> CommitTurns:
    """Return the turn that made a commit and those that wrote lines of it, in the conversation with the surest link.

    revision: the commit in the project around `directory`
    conversation: look in this conversation only

    Raises:
        NotFound: there is no such commit or conversation, or no conversation is linked to the commit.
        Inaccessible: git is not installed, or cannot read the project.
    """
    wanted = None if conversation is None else resolve_conversation(repository, conversation)
    with open_linker(repository, index_directory, directory, on_progress) as linker:
        linked = link_revision(linker, revision)
        links = require_links(linked, wanted)
        first = links[0].conversation
        own = TurnFinder(repository, linker.index).links_of(linked, first)
        messages = list_turn_messages(repository, list_branch_tips(repository, first).values())
        found = [message for link in own for turn in link.turns for message in messages_of_turn(messages, turn.message)]
        notes = (*linker.notes, _note_turns(linked.facts, first, own), *_note_others(links, first))
        return CommitTurns(first, frozenset(found), notes)


def link_revision(linker: CommitLinker, revision: str) -> LinkedCommit:
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


def require_links(linked: LinkedCommit, wanted: ConversationId | None) -> tuple[CodeLink, ...]:
    """Return the links of a commit that are more than candidates; only those with a conversation if it is given.

    Raises:
        NotFound: there is none; the error says what is known instead.
    """
    links = best_links(linked.links)
    if wanted is not None:
        links = tuple(link for link in links if link.conversation == wanted)
    if links:
        return links
    name = _name(linked.facts)
    if linked.unknown:
        raise NotFound(f"{name} was made by {_describe(linked.unknown[0])}", hint="import it: scopes import")
    whom = "no conversation" if wanted is None else wanted
    other = conversations_of(link for link in linked.links if wanted is None or link.conversation != wanted)
    verb = "is" if wanted is None else "is not"
    hint = f"perhaps: {', '.join(other[:5])}" if other else "import the sessions of your agents: scopes import"
    raise NotFound(f"{whom} {verb} linked to {name}", hint=hint)


def _note_turns(facts: CommitFacts, conversation: ConversationId, links: Sequence[CodeLink]) -> Note:
    """Return a note that says which of the turns made a commit, and which wrote lines of it."""
    roles = {
        role: sorted({turn.number for link in links if link.role == role for turn in link.turns}) for role in _ROLES
    }
    told = [
        f"{_ROLES[role]} {plural(len(turns), 'turn')} {', '.join(map(str, turns))}"
        for role, turns in roles.items()
        if turns
    ]
    text = f"{_name(facts)}: {'; '.join(told) or 'no turn is known'}"
    return Note(text, f"the evidence: scopes show {conversation} --commits")


def _note_others(links: Sequence[CodeLink], first: ConversationId) -> tuple[Note, ...]:
    others = [name for name in conversations_of(links) if name != first]
    if not others:
        return ()
    return (Note(f"also linked to the commit: {', '.join(others)}", f"show it: scopes log {others[0]} --commit REV"),)


def _describe(record: CommitRecord) -> str:
    if record.session is None:
        return f"a session of {record.tool}, which does not tell its commands which one it is"
    return f"the session {record.session} of {record.tool}, which is not in the store"


def _name(facts: CommitFacts) -> str:
    return f"commit {facts.commit[:8]} {facts.subject!a}"
