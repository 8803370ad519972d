"""`decisions`: list the decisions of a conversation with author, time and message (S1-29), and withdraw one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, NamedTuple

from scopes.errors import Invalid, NotFound
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle, resolve_scope, walk_messages
from scopes.history.messages import (
    MessageHeader,
    check_author,
    display_time,
    find_claim,
    plain_message,
    read_body,
    shown_author,
    subject_of,
)
from scopes.history.transaction import append_as_operation
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import decoded_key, group_of, key_of_path, withdrawn_topic
from scopes.merge.lanes import may_be_resolution, resolved_values
from scopes.merge.plan import open_conflicts_at
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component
from scopes.model.conflicts import decode_resolution
from scopes.model.message import DECISIONS, Author, Message, decision_key, topic_leaf
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, named, short_id, shown
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import find_blob, find_subtree, read_blob, walk_blobs
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision; it is `current` if the branch that is asked for (default: the active one) still holds it.

    `branches` are the branches that hold it, if it is not in the history of the active one. It is `withdrawn` if no
    branch holds it, because its topic was withdrawn, or its message retracted or amended without it. `topic` has the
    spelling of its message.
    """

    topic: str
    decision: str
    head: MessageHeader = field(metadata=named("message"))
    current: bool = field(metadata=named("stands"))
    branches: tuple[BranchName, ...] = field(default=(), metadata=OMIT_EMPTY)
    withdrawn: bool = field(default=False, metadata=HIDDEN)

    @property
    def author(self) -> str:
        """Who decided."""
        return shown_author(self.head)

    @property
    def time(self) -> str | None:
        """When."""
        return display_time(self.head)

    @property
    def key(self) -> str:
        """The key of the topic, equal for all its spellings."""
        return decision_key(self.topic)

    @property
    @shown
    def state(self) -> str:
        """`in-effect`, `other-branch` if only other branches than the active one hold it, `withdrawn`, `superseded`."""
        if self.current or self.branches:
            return "in-effect" if self.current else "other-branch"
        return "withdrawn" if self.withdrawn else "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionList(Result):
    """Every decision of every branch, oldest first; `branch` is the only one that counts, if it was named."""

    rows_in = "decisions"
    columns = (
        Column("topic"),
        Column("decision", form="prose"),
        Column("author"),
        Column("time", form="time"),
        Column("message.id", "ID", "id"),
        Column("message.oid", "OID", on="pipe"),
        Column("state", form="state"),
        Column("branches", "Only on", on="terminal"),
    )
    empty = "no decisions"

    conversation: ConversationId
    decisions: tuple[DecisionRow, ...]
    branch: BranchName | None = None


class StatedDecision(NamedTuple):
    """A decision that a message states or, with `resolved_by` and `reason`, chose when it resolved a conflict.

    `number` is that of the message. `replaced_by` is the decision in effect on the same topic, or the last later one.
    It is `disputed` while a conflict about its topic is open: until that is resolved the target prevails.
    """

    row: DecisionRow
    number: int
    resolved_by: str | None = None
    reason: str | None = None
    replaced_by: str | None = None
    disputed: bool = False


def decisions_at(
    repository: Repository, tip: Oid, heads: Sequence[MessageHeader], work_item: str | None = None
) -> tuple[StatedDecision, ...]:
    """Return every decision in the history of a commit as of that commit, oldest first.

    `heads` are the messages of that history, oldest first. Only typed decisions and notices are read. With `work_item`,
    messages for other work items are left out.
    """
    stated: list[StatedDecision] = []
    notices = []
    claims, spellings = _Claims(repository), dict[str, str]()
    for number, head in enumerate(heads, 1):
        if head.kind != "decision" and (head.kind != "notice" or head.author_kind == "system"):
            continue
        message = read_body(repository, head)
        withdrawn = withdrawn_topic(message.extra)
        if withdrawn is not None:
            notices.append((withdrawn, head.oid))
        if work_item is None or message.work_item in {None, work_item}:
            stated += _walk_stated(claims, tip, number, head, message, spellings)
    rows = [each.row for each in stated]
    ends = _Withdrawals(repository, tip, (tip,), rows, notices)
    disputed = {each.key for each in open_conflicts_at(repository, tip)} if stated else set[str]()
    found = []
    for position, (each, row) in enumerate(zip(stated, rows, strict=True)):
        in_effect = [other for other in rows if other.key == row.key and other.current]
        last = [*(other for other in rows[position + 1 :] if other.key == row.key), *in_effect][-1:]
        by = next((other.decision for other in last if other.decision != row.decision), None)
        ended = replace(row, withdrawn=ends.include(row))
        found.append(each._replace(row=ended, replaced_by=by, disputed=row.key in disputed))
    return tuple(found)


def _walk_stated(  # noqa: PLR0917 - where, then what
    claims: _Claims, tip: Oid, number: int, head: MessageHeader, message: Message, spellings: dict[str, str]
) -> Iterator[StatedDecision]:
    """Yield the decisions of a message: the one that it states, or those that it chose for a conflict."""
    actor = reason = None
    pairs = [decided] if (decided := _decision_in(message)) is not None else []
    document = message.extra.get("conflict")
    if isinstance(document, dict) and may_be_resolution(head) and (resolution := decode_resolution(document)):
        actor, reason, key = resolution.actor, resolution.reason or None, str(document.get("key"))
        if not pairs and group_of(key) == DECISIONS:
            values = resolved_values(claims.repository, head.oid, document)
            pairs = [(_topic_of(key), value) for value in values if isinstance(value, str)]
    for topic, decision in pairs:
        current, spelled = claims.hold(tip, topic, decision), _spell(spellings, message, topic)
        row = DecisionRow(topic=spelled, decision=decision, head=head, current=current)
        yield StatedDecision(row, number, actor, reason)


def decisions(repository: Repository, where: str) -> DecisionList:
    """Collect the decisions of a conversation, or of one branch of it given as `CONV/BRANCH`.

    Spellings of a topic that are one key (`Database`, `database `) are one topic.
    """
    scope = resolve_scope(repository, where)
    active = ConversationHandle(repository, scope.conversation).active_branch.tip
    tip = active if scope.branch is None else scope.tips[scope.branch]
    disputed = [each for each in open_conflicts_at(repository, tip) if group_of(each.key) == DECISIONS]
    several = len(scope.tips) > 1
    in_history = {commit.oid for commit in walk_newest_first(repository, [tip])} if several else None
    claims, spellings = _Claims(repository), dict[str, str]()
    rows, notices = [], []
    for head, message in walk_messages(repository, scope):
        withdrawn = withdrawn_topic(message.extra)
        if withdrawn is not None:
            notices.append((withdrawn, head.oid))
        decided = _decision_in(message)
        if decided is not None:
            topic, decision = _spell(spellings, message, decided[0]), decided[1]
            current = claims.hold(tip, topic, decision)
            elsewhere = in_history is not None and not current and head.oid not in in_history
            names = scope.tips.items() if elsewhere else ()
            branches = tuple(name for name, oid in names if claims.hold(oid, topic, decision))
            titled = head._replace(subject=subject_of(head, message))
            rows.append(DecisionRow(topic=topic, decision=decision, head=titled, current=current, branches=branches))
    ends = _Withdrawals(repository, tip, scope.tips.values(), rows, notices)
    found = tuple(replace(row, withdrawn=ends.include(row)) for row in _in_one_spelling(rows))
    return DecisionList(
        conversation=scope.conversation,
        decisions=found,
        branch=scope.branch,
        notes=tuple(
            Note(
                f"the conflict about {decoded_key(each.key)} is open: until it is resolved the target prevails",
                f"see: scopes conflicts show {quote(scope.conversation)} {quote(each.id[:8])}",
            )
            for each in disputed
        ),
    )


def _in_one_spelling(rows: Sequence[DecisionRow]) -> Iterator[DecisionRow]:
    """Yield rows; of a decision in effect that was stated in several spellings of its topic only the last one."""
    spellings: dict[str, set[str]] = {}
    for row in rows:
        spellings.setdefault(row.key, set()).add(row.topic)
    last = {row.key: row for row in rows if row.current}
    yield from (row for row in rows if not row.current or len(spellings[row.key]) == 1 or row is last[row.key])


class _Claims:
    """The decisions in the states of tips, by key; each state is read once."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._by_tip: dict[Oid, Mapping[str, Any]] = {}

    def hold(self, tip: Oid, topic: str, decision: str) -> bool:
        """Return True if the state of a tip has a decision on a topic, in any spelling of the topic."""
        if tip not in self._by_tip:
            self._by_tip[tip] = self._read(tip)
        return decision in _decisions_in(self._by_tip[tip].get(decision_key(topic)))

    def _read(self, tip: Oid) -> Mapping[str, Any]:
        tree = find_subtree(self.repository, state_of(self.repository, tip), DECISIONS)
        blobs = () if tree is None else walk_blobs(self.repository, tree)
        return {
            f"{DECISIONS}/{name.removesuffix('=')}": canonical_json.load(read_blob(self.repository, blob))
            for name, blob in blobs
        }


class _Withdrawals(NamedTuple):
    """What can withdraw decisions: the states of tips, and notices, each with topic and commit."""

    repository: Repository
    tip: Oid
    tips: Collection[Oid]
    rows: Sequence[DecisionRow]
    notices: Sequence[tuple[str, Oid]]

    def include(self, row: DecisionRow) -> bool:
        """Return True if a decision that no branch holds was withdrawn, and no later one had replaced it before."""
        if row.current or row.branches:
            return False
        amended, topic, oid = self._claim(row), row.key, row.head.oid
        notices = [notice for about, notice in self.notices if about == topic and not self._precedes(notice, oid)]
        if amended.get("retracted") or not (amended or notices):
            return bool(amended)
        others = [other for other in self.rows if other.key == topic and other.head.oid != oid]
        replacing = [other for other in others if self._precedes(oid, other.head.oid)]
        later = [other.head.oid for other in replacing if not self._claim(other).get("retracted")]
        if amended and not later:
            return True
        return any(all(self._precedes(notice, other) for other in later) for notice in notices)

    def _precedes(self, first: Oid, second: Oid) -> bool:
        return is_ancestor(self.repository, first, second)

    def _claim(self, row: DecisionRow) -> Mapping[str, object]:
        """Return whether the message was amended or retracted: on the tip if it is in its history, else on any."""
        tips = [self.tip] if self._precedes(row.head.oid, self.tip) else self.tips
        claims = (find_claim(self.repository, tip, row.head.id) for tip in tips)
        return next((claim for claim in claims if claim), {})


def _decision_in(message: Message) -> tuple[str, str] | None:
    """Return topic and decision of a decision message, or of one that resolves a conflict about a decision."""
    if message.kind == "decision" and message.payload is not None:
        return str(message.payload.get("topic", "")), str(message.payload.get("decision", ""))
    match message.extra.get("conflict"):
        case {"key": str(key), "choice": "value", "value": str(decision)} if group_of(key) == DECISIONS:
            return _topic_of(key), decision
    return None


def _spell(spellings: dict[str, str], message: Message, topic: str) -> str:
    """Return a topic as it was spelled last: a resolution has only the key of its topic."""
    key = decision_key(topic)
    if message.kind == "decision":
        spellings[key] = topic
    return spellings.get(key, topic)


def _topic_of(key: str) -> str:
    return decoded_key(key).partition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWithdrawn(Result):
    """The decision on a topic is no longer in effect on a branch; `id` is the new message, None in a dry run.

    `topic` is folded, and `decisions` what was in effect.
    """

    id: MessageId | None
    oid: Oid | None
    conversation: ConversationId
    branch: BranchName
    topic: str
    decisions: tuple[str, ...]
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """What is no longer in effect, and the message that withdrew it."""
        where = f"{self.conversation}/{self.branch}"
        if self.id is None:
            return f"{self._what} would be withdrawn on {where}"
        return f"withdrawn {self._what} on {where} by {short_id(self.id)}"

    @property
    def answer(self) -> str:
        """The id of the message; in a dry run what would be withdrawn."""
        return self.id or self._what

    @property
    def next_step(self) -> str:
        """How to take it back."""
        return "" if self.id is None else "undo with: scopes undo"

    @property
    def _what(self) -> str:
        return f"{self.topic} = {', '.join(self.decisions)}"


def withdraw_decision(
    repository: Repository,
    conversation: str,
    topic: str,
    *,
    reason: str = "",
    author: Author,
    branch: str | None = None,
    dry_run: bool = False,
) -> DecisionWithdrawn:
    """Withdraw the decision on a topic, in any spelling, on a branch (default: the active one).

    Raises:
        NotFound: no decision on the topic is in effect there.
        Invalid: the topic is empty.
    """
    handle = StoreHandle(repository).branch(conversation, branch)
    if not topic.strip():
        raise Invalid("no topic given", hint=f"list them: scopes decisions {quote(str(handle))}")
    path = topic_leaf(DECISIONS, topic)
    topic = decode_component(path.removesuffix("=").partition("/")[2])
    message_id = oid = None
    with nullcontext() if dry_run else exclusive_write(repository):
        found = _find_decisions(handle, handle.tip, path)
        if not dry_run:
            text = reason or f"withdrawn: {topic}: {', '.join(found)}"
            message = plain_message(check_author(author), text, kind="notice")
            message = replace(message, extra={**message.extra, "withdraws": {"key": key_of_path(path)}})
            message_id, summary = message.id, f"withdraw a decision of {handle}"
            oid = append_as_operation(
                repository,
                handle.conversation.id,
                handle.name,
                message,
                "withdraw",
                summary,
                state_changes={path: None},
            )
    return DecisionWithdrawn(
        id=message_id,
        oid=oid,
        conversation=handle.conversation.id,
        branch=handle.name,
        topic=topic,
        decisions=found,
        dry_run=dry_run,
    )


def _find_decisions(branch: BranchHandle, tip: Oid, path: str) -> tuple[str, ...]:
    """Return the decisions in the claim about a topic.

    Raises:
        NotFound: no decision on it is in effect.
    """
    state = state_of(branch.repository, tip)
    claim = find_blob(branch.repository, state, path)
    if claim is None:
        hint = f"list them: scopes decisions {quote(str(branch))}"
        raise NotFound(f"no decision on {_topic_of(key_of_path(path))!a} is in effect on {branch}", hint=hint)
    return tuple(_decisions_in(canonical_json.load(claim)))


def _decisions_in(claim: Any) -> list[str]:
    """Return the decisions of a claim; there are several if a merge kept both."""
    match claim:
        case {"both": list(several)}:
            return [text for each in several for text in _decisions_in(each)]
        case {"decision": str(decision)}:
            return [decision]
    return []
