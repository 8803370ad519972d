"""Find the turns that a commit of the project is from, for `log --commit`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Final, NamedTuple

from scopes.code_links.commit_facts import CommitFacts
from scopes.code_links.link import CodeLink, LinkRole
from scopes.code_links.linked_commits import conversations_of
from scopes.code_links.linked_turns import TurnFinder
from scopes.code_links.turns import TurnMessage, branches_of_messages, list_turn_messages, messages_of_turn
from scopes.conversation.linked_revision import (
    LinkedRevision,
    RevisionRequest,
    name_commit,
    note_likely,
    open_revision,
)
from scopes.conversation.log import CommitTurn, Log, LogEntry, TurnLink
from scopes.errors import NotFound
from scopes.history.messages import read_body
from scopes.history.revisions import list_branch_tips
from scopes.history.sub_agents import spawner_of
from scopes.ids import ConversationId, MessageId
from scopes.result import Note, Result, plural
from scopes.store.repository import Repository

_ROLES: Final[Mapping[LinkRole, str]] = {"made": "made in", "wrote": "lines written in"}


class CommitTurns(NamedTuple):
    """The messages of the turns in one conversation that a commit is from, with the links of their turns."""

    conversation: ConversationId
    messages: Mapping[MessageId, CommitTurn]
    notes: tuple[Note, ...] = ()


def find_commit_turns(
    repository: Repository,
    request: RevisionRequest,
) -> CommitTurns:
    """Return the turn that made a commit and those that wrote lines of it, in the conversation with the surest link.

    Raises:
        NotFound: there is no such commit or conversation, no conversation is linked to the commit, or its turn is not
            recorded yet.
        Inaccessible: git is not installed, or cannot read the project.
    """
    with open_revision(repository, request) as found:
        first = found.links[0].conversation
        own = TurnFinder(repository, found.linker.index).links_of(found.commit, first)
        messages = list_turn_messages(repository, list_branch_tips(repository, first).values())
        turns = dict.fromkeys(turn.message for link in own for turn in link.turns)
        if not turns:
            raise NotFound(
                f"{name_commit(found.commit.facts)} was made by {first}, in a turn that is not recorded yet",
                hint="import the session when the turn has ended: scopes import",
            )
        wanted = [name for message in turns for name in _messages_about(repository, messages, message)]
        described = _describe_turns(repository, found, own, messages, wanted)
        about = _note_turns(found.commit.facts, first, own)
        likely = note_likely([link for link in found.links if link.conversation == first])
        notes = (*found.linker.notes, about, *likely, *_note_others(found.links, first, request.revision))
        return CommitTurns(first, described, notes)


def with_commit_turns(log: Log, found: Mapping[MessageId, CommitTurn]) -> Log:
    """Return a log whose entries say how their turns are linked with a commit."""
    return replace(log, items=(_with_commit_turn(item, found) for item in log.items))


def _with_commit_turn(item: Result, found: Mapping[MessageId, CommitTurn]) -> Result:
    return replace(item, commit_turn=found.get(item.head.id)) if isinstance(item, LogEntry) else item


def _describe_turns(
    repository: Repository,
    found: LinkedRevision,
    own: Sequence[CodeLink],
    messages: Sequence[TurnMessage],
    wanted: Sequence[MessageId],
) -> dict[MessageId, CommitTurn]:
    """Return for each message its branch and the links of its turn: turns of two branches may have one number."""
    conversation = found.links[0].conversation
    also = tuple(name for name in conversations_of(found.links) if name != conversation)
    links: dict[MessageId, list[TurnLink]] = {}
    for link in own:
        for turn in link.turns:
            for message in messages_of_turn(messages, turn.message):
                links.setdefault(message, []).append(TurnLink(link.role, link.level, turn.number))
    branches = branches_of_messages(repository, conversation, wanted)
    return {
        message: CommitTurn(
            conversation,
            branches.get(message),
            found.commit.facts.commit,
            tuple(dict.fromkeys(links.get(message, ()))),
            also,
        )
        for message in wanted
    }


def _messages_about(repository: Repository, messages: Sequence[TurnMessage], message: MessageId) -> Iterator[MessageId]:
    """Yield the messages of the turn that a message is in, and of the one in which its sub-agent was started."""
    heads = {each.head.id: each.head for each in messages}
    seen: set[MessageId] = set()
    wanted: MessageId | None = message
    while wanted in heads and wanted not in seen:
        turn = messages_of_turn(messages, wanted)
        seen.update(turn)
        yield from turn
        spawner = spawner_of(read_body(repository, heads[turn[0]]))
        wanted = None if spawner is None else MessageId(spawner)


def _note_turns(facts: CommitFacts, conversation: ConversationId, links: Sequence[CodeLink]) -> Note:
    """Return a note that says which of the turns made a commit, and which wrote lines of it."""
    roles = {
        role: sorted({turn.number for link in links if link.role == role for turn in link.turns}) for role in _ROLES
    }
    found = [
        f"{_ROLES[role]} {plural(len(turns), 'turn')} {', '.join(map(str, turns))}"
        for role, turns in roles.items()
        if turns
    ]
    text = f"{name_commit(facts)}: {'; '.join(found) or 'no turn is known'}"
    return Note(text, f"the evidence: scopes show {quote(conversation)} --commits")


def _note_others(links: Sequence[CodeLink], first: ConversationId, revision: str) -> tuple[Note, ...]:
    others = [name for name in conversations_of(links) if name != first]
    if not others:
        return ()
    hint = f"show it: scopes log {quote(others[0])} --commit {quote(revision)}"
    return (Note(f"also linked to the commit: {', '.join(others)}", hint),)
