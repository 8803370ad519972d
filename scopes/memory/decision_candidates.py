"""Decisions that were found in the text of messages: candidates until somebody accepts or dismisses them.

A candidate is not a claim: merges and `decisions` do not know it. To accept one appends a typed decision that names the
message it came from. To dismiss one records that in the metadata. The id of a candidate is that of its message, with
the number of the sentence among the candidates of the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scopes.clock import now
from scopes.conversation.append import append
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.conversations import Scope, resolve_scope
from scopes.history.handles import ConversationHandle
from scopes.history.messages import MessageHeader, check_author, headers_of, plain_message
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.memory.extraction import clip, why_decision
from scopes.memory.keywords import walk_words
from scopes.memory.sentences import split_sentences
from scopes.memory.source_messages import read_source_messages
from scopes.model.message import Author, Message
from scopes.model.validation import check_payload
from scopes.result import Result
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

ACCEPTS = "accepts"  # the field of a decision that names its candidate
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
    head: MessageHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateList(Result):
    """The candidates that were neither accepted nor dismissed, oldest first; `branch` is the only one, if named."""

    conversation: ConversationId
    candidates: tuple[DecisionCandidate, ...]
    branch: BranchName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAccepted(Result):
    """A candidate that became a decision: the message `id`, on a branch."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    topic: str
    candidate: DecisionCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDismissed(Result):
    """A candidate that is not listed any more."""

    conversation: ConversationId
    candidate: DecisionCandidate
    operation: OperationId


def list_candidates(repository: Repository, where: str) -> CandidateList:
    """List the decision candidates of a conversation, or of one branch of it given as `CONV/BRANCH`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
    """
    scope = resolve_scope(repository, where)
    found, accepted = _read(repository, scope)
    ended = accepted | ConversationHandle(repository, scope.conversation).metadata.dismissed
    candidates = tuple(each for each in found if each.id not in ended)
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
        NotFound, Ambiguous: no candidate has the id, or several do; or it was accepted or dismissed.
        Invalid: the topic is empty, or the author is not valid.
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
    appended = append(repository, conversation, message, branch=branch or candidate.branch)
    return DecisionAccepted(
        id=appended.id,
        oid=appended.oid,
        conversation=conversation,
        branch=appended.branch,
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
    """Return the listed candidate with this id, or a unique prefix of it with or without the number."""
    listed = list_candidates(repository, where)
    message, dot, number = name.partition(".")
    found = [
        each
        for each in listed.candidates
        if message and each.id.startswith(message) and (not dot or each.id.endswith(f".{number}"))
    ]
    if len(found) == 1:
        return listed.conversation, found[0]
    if found:
        names = ", ".join(f"{each.id[:8]}.{each.id.rpartition('.')[2]}" for each in found[:5])
        raise Ambiguous(f"{name!a} matches {len(found)} candidates", hint=f"name one of: {names}")
    hint = f"list them: scopes decisions {listed.conversation} --candidates"
    raise NotFound(f"there is no decision candidate {name!a} in {listed.conversation}", hint=hint)


def _read(repository: Repository, scope: Scope) -> tuple[list[DecisionCandidate], set[str]]:
    """Return all candidates, and the ids of those that a decision in the history of a branch accepts."""
    active = ConversationHandle(repository, scope.conversation).active_branch.name
    accepted: dict[str, str] = {}
    retracted: set[str] = set()
    found: list[DecisionCandidate] = []

    def visit(message: Message) -> None:
        accepts = message.extra.get(ACCEPTS)
        if message.kind == "decision" and isinstance(accepts, str):
            accepted[message.id] = accepts
        if message.retracts is not None:
            retracted.add(message.retracts)

    branches = sorted(scope.tips, key=lambda name: (name != active, name != "main", name))
    hidden: set[Oid] = set()
    seen: set[MessageId] = set()
    for branch in branches:
        commits = list(walk_oldest_first(repository, [scope.tips[branch]], hidden))
        hidden.update(commit.oid for commit in commits)
        heads = [head for head in headers_of(commits) if head.id not in seen]
        seen.update(head.id for head in heads)
        for source in read_source_messages(repository, heads, visit):
            if source.decision is None:
                found += _candidates_in(source.head, source.message, branch)
    found.sort(key=lambda each: each.head.time)
    return found, {accepts for message, accepts in accepted.items() if message not in retracted}


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
