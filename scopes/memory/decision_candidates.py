"""Decisions that were found in the text of messages: candidates until somebody accepts or dismisses them.

A candidate is not a claim: merges and `decisions` do not know it. To accept one appends a typed decision that names the
message it came from. To dismiss one records that in the metadata. The id of a candidate is that of its message, with
the number of the sentence among the candidates of the message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import NamedTuple

from scopes.clock import now
from scopes.conversation.append import message_writers
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.handles import ConversationHandle, Scope, resolve_scope
from scopes.history.messages import (
    MessageHeader,
    check_author,
    display_time,
    header_of,
    headers_of,
    is_retracted,
    plain_message,
    read_body,
    shown_author,
)
from scopes.history.names import list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.memory.extraction import clip, why_decision
from scopes.memory.keywords import walk_words
from scopes.memory.sentences import split_sentences
from scopes.memory.source_messages import read_source_messages
from scopes.model.message import Author, Message
from scopes.model.validation import check_payload
from scopes.result import Column, Result, named, short_id
from scopes.store.graph import is_ancestor, walk_newest_first, walk_oldest_first
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, require_unpurged

_TOPIC_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCandidate:
    """A sentence that seems to state a decision.

    Attributes:
        id: The id of its message, a full stop, and its number among the candidates of the message.
        branch: The branch whose history has the message: the active one, if it is in several.
        why: Why it was found.
    """

    id: str
    text: str
    branch: BranchName
    why: str
    head: MessageHeader = field(metadata=named("message"))

    @property
    def author(self) -> str:
        """Who wrote it."""
        return shown_author(self.head)

    @property
    def time(self) -> str | None:
        """When."""
        return display_time(self.head)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateList(Result):
    """The candidates that were neither accepted nor dismissed, oldest first; `branch` is the only one, if named."""

    kind = "decision-candidates"
    rows_in = "candidates"
    columns = (
        Column("id", "ID", "id"),
        Column("text", form="prose"),
        Column("branch", form="branch"),
        Column("why"),
        Column("author"),
        Column("time", form="time"),
    )
    empty = "no decision candidates"

    conversation: ConversationId
    candidates: tuple[DecisionCandidate, ...]
    branch: BranchName | None = None

    @property
    def next_step(self) -> str:
        """How to accept the first one."""
        if not self.candidates:
            return ""
        conversation, first = quote(self.conversation), quote(short_id(self.candidates[0].id))
        return f"accept one: scopes decisions {conversation} --accept {first} --topic TOPIC"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAccepted(Result):
    """A candidate that became a decision: the message `id`, on a branch."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    topic: str
    candidate: DecisionCandidate

    @property
    def sentence(self) -> str:
        """The decision."""
        return f"accepted: {self.topic} = {self.candidate.text} on {self.branch}"

    @property
    def answer(self) -> str:
        """The id of the message."""
        return self.id

    @property
    def next_step(self) -> str:
        """How to take it back."""
        return "undo with: scopes undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDismissed(Result):
    """A candidate that is not listed any more."""

    kind = "decision-dismissed"

    conversation: ConversationId
    candidate: DecisionCandidate
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What is not listed any more."""
        return f"dismissed: {self.candidate.text}"

    @property
    def answer(self) -> str:
        """The id of the candidate."""
        return self.candidate.id


def list_candidates(repository: Repository, where: str) -> CandidateList:
    """List the decision candidates of a conversation, or of one branch of it given as `CONV/BRANCH`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
    """
    scope = resolve_scope(repository, where)
    ended = read_acceptances(repository, scope.conversation).keys() | _dismissed(repository, scope.conversation)
    candidates = tuple(each for each in _read(repository, scope) if each.id not in ended)
    return CandidateList(conversation=scope.conversation, candidates=candidates, branch=scope.branch)


def accept_candidate(
    repository: Repository,
    where: str,
    name: str,
    *,
    topic: str | None = None,
    author: Author,
    branch: str | None = None,
) -> DecisionAccepted:
    """Append a decision with the text of a candidate, to its branch or another one.

    `topic` is by default made of the first words of the sentence that have a meaning.

    Raises:
        NotFound, Ambiguous: no candidate has the id, or several do.
        Invalid: the topic is empty, or the author is not valid.
        Refused: the candidate was accepted or dismissed already.
        Busy: its message was purged meanwhile.
    """
    conversation, candidate = _find(repository, where, name)
    chosen = _topic_of(candidate.text) if topic is None else topic.strip()
    if not chosen:
        raise Invalid("a decision needs a topic", hint="give one: --topic TEXT")
    message = replace(
        plain_message(check_author(author), candidate.text, kind="decision"),
        payload=check_payload("decision", {"topic": chosen, "decision": candidate.text}),
        reply_to=candidate.head.id,
        extra={ACCEPTS: candidate.id},
    )
    handle = ConversationHandle(repository, conversation).branch(branch or candidate.branch)
    [write] = message_writers(repository, conversation, [message])
    with exclusive_write(repository):  # of two people who accept it at once, one is told about the other
        require_unpurged(repository, conversation, [candidate.head.oid])
        _require_open(repository, conversation, candidate.id)
        tip = handle.tip
        oid = write(tip)
        tx = Transaction(repository, conversation)
        tx.move_branch(handle.name, tip, oid)
        tx.commit("accept", f"accept a decision candidate of {conversation}")
    return DecisionAccepted(
        id=message.id,
        oid=oid,
        conversation=conversation,
        branch=handle.name,
        topic=chosen,
        candidate=candidate,
    )


def dismiss_candidate(
    repository: Repository, where: str, name: str, *, reason: str = "", author: Author
) -> CandidateDismissed:
    """Stop listing a candidate; raises as `accept_candidate` does."""
    by = check_author(author)
    with exclusive_write(repository):
        conversation, candidate = _find(repository, where, name)
        document = {"by": by.name, "time": now()} | ({"reason": reason.strip()} if reason.strip() else {})
        tx = Transaction(repository, conversation)
        tx.dismiss(candidate.id, document)
        summary = f"dismiss a decision candidate of {conversation}"
        operation = tx.commit("dismiss", summary, metadata_message="dismiss a decision candidate")
    return CandidateDismissed(conversation=conversation, candidate=candidate, operation=operation.id)


def _find(repository: Repository, where: str, name: str) -> tuple[ConversationId, DecisionCandidate]:
    """Return the listed candidate with this id, or a unique prefix of it with or without the number.

    Raises:
        NotFound, Ambiguous: there is none, or several.
        Refused: it was accepted or dismissed already.
    """
    listed = list_candidates(repository, where)
    found = [each for each in listed.candidates if _is_named(each.id, name)]
    if len(found) == 1:
        return listed.conversation, found[0]
    if found:
        names = ", ".join(f"{each.id[:8]}.{each.id.rpartition('.')[2]}" for each in found[:5])
        raise Ambiguous(f"{name!a} matches {len(found)} candidates", hint=f"name one of: {names}")
    _require_open(repository, listed.conversation, name)
    hint = f"list them: scopes decisions {quote(listed.conversation)} --candidates"
    raise NotFound(f"there is no decision candidate {name!a} in {listed.conversation}", hint=hint)


def _is_named(candidate: str, name: str) -> bool:
    message, dot, number = name.partition(".")
    return bool(message) and candidate.startswith(message) and (not dot or candidate.endswith(f".{number}"))


def _require_open(repository: Repository, conversation: ConversationId, name: str) -> None:
    """Refuse a candidate that was accepted or dismissed; `name` is its id, or a prefix of it.

    Raises:
        Refused: it was.
    """
    accepted = read_acceptances(repository, conversation)
    found = next((each for each in accepted.values() if _is_named(each.candidate, name)), None)
    if found is not None:
        hint = f"see the decision: scopes cat {quote(conversation)}/{quote(found.message)}"
        raise Refused(f"the decision candidate {name!a} was accepted already by {found.author}", hint=hint)
    if any(_is_named(each, name) for each in _dismissed(repository, conversation)):
        hint = "find the operation that did, to undo it: scopes op -a"
        raise Refused(f"the decision candidate {name!a} was dismissed already", hint=hint)


def _dismissed(repository: Repository, conversation: ConversationId) -> frozenset[str]:
    return ConversationHandle(repository, conversation).metadata.dismissed


def _read(repository: Repository, scope: Scope) -> list[DecisionCandidate]:
    """Return the candidates of a scope, also those that were accepted or dismissed, oldest first."""
    active = ConversationHandle(repository, scope.conversation).active_branch.name
    found: list[DecisionCandidate] = []
    branches = sorted(scope.tips, key=lambda name: (name != active, name != "main", name))
    hidden: set[Oid] = set()
    seen: set[MessageId] = set()
    for branch in branches:
        commits = list(walk_oldest_first(repository, [scope.tips[branch]], hidden))
        hidden.update(commit.oid for commit in commits)
        heads = [head for head in headers_of(commits) if head.id not in seen]
        seen.update(head.id for head in heads)
        for source in read_source_messages(repository, heads):
            if source.decision is None:
                found += _candidates_in(source.head, source.message, branch)
    return sorted(found, key=lambda each: each.head.time)


def _candidates_in(head: MessageHeader, message: Message, branch: BranchName) -> Iterator[DecisionCandidate]:
    by_person = message.author.kind == "human"
    number = 0
    for sentence in dict.fromkeys(split_sentences(message.text)):
        why = why_decision(sentence, by_person=by_person)
        if why is not None:
            number += 1
            yield DecisionCandidate(id=f"{head.id}.{number}", text=clip(sentence), branch=branch, why=why, head=head)


def _topic_of(text: str) -> str:
    return " ".join(list(dict.fromkeys(walk_words(text)))[:_TOPIC_WORDS])


ACCEPTS = "accepts"  # the field of a decision that names its candidate


class Acceptance(NamedTuple):
    """A decision that accepts a candidate and is not retracted on every branch."""

    candidate: str
    message: MessageId
    author: str


def read_acceptances(repository: Repository, conversation: ConversationId) -> Mapping[str, Acceptance]:
    """Return what was accepted on any branch and not retracted there, by candidate."""
    tips = set(list_branch_tips(repository, conversation).values())
    found: dict[str, Acceptance] = {}
    for commit in walk_newest_first(repository, sorted(tips)):
        candidate = read_body(repository, commit).extra.get(ACCEPTS) if commit.kind == "decision" else None
        if not isinstance(candidate, str):
            continue
        head = header_of(commit)
        if any(is_ancestor(repository, head.oid, tip) and not is_retracted(repository, tip, head.id) for tip in tips):
            found.setdefault(candidate, Acceptance(candidate, head.id, head.author))
    return found
