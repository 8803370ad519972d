"""`proposals create`: append a proposal to a branch, and send it to agents if that is asked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import Registry
from scopes.agents.send import describe_receivers, send
from scopes.clock import format_time, now_nanoseconds, parse_date, parse_time
from scopes.conversation.append import append_to
from scopes.errors import Invalid, Refused
from scopes.history.handles import BranchHandle, participants_of
from scopes.history.messages import check_author, plain_message
from scopes.history.names import find_nearest
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.model.message import Author, Message
from scopes.proposals.proposal import (
    PENDING,
    FieldChange,
    describe_change,
    is_same,
    read_value,
    show_value,
    value_path,
)
from scopes.proposals.state import KIND, read_proposals
from scopes.result import Note, Result, short_id, shown
from scopes.store.objects import read_commit

_ABSOLUTE = re.compile(r"[0-9]{4}-")
_PAST = re.compile(r"\b(?:ago|last|today|yesterday)\b", re.IGNORECASE)


class NewChange(NamedTuple):
    """A change as it is asked for; `set` creates or updates the value."""

    field: str
    operation: Literal["set", "append", "delete"]
    value: Any = None


class Delivery(NamedTuple):
    """To whom a proposal is sent: `to` as in `send`, reviewers if it is empty; `queue`: also if nobody is available."""

    to: Sequence[str] = ()
    queue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalCreated(Result):
    """A proposal that was added to a branch.

    Attributes:
        supersedes: The pending proposals of the same agent that it replaces.
        delivered_to, queued_for: Who got it, and for whom it waits, if it was sent.
    """

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    entity_type: str
    entity_id: str
    changes: tuple[FieldChange, ...]
    supersedes: tuple[MessageId, ...] = ()
    delivered_to: tuple[AgentName, ...] = ()
    queued_for: tuple[AgentName, ...] = ()

    @property
    @shown
    def state(self) -> str:
        """The state of a new proposal."""
        return PENDING

    @property
    def sentence(self) -> list[str]:
        """What was proposed, to whom it was sent, and what it replaces."""
        lines = [f"proposed {short_id(self.id)} for {self.entity_type}/{self.entity_id}"]
        lines += [f"    {describe_change(change)}" for change in self.changes]
        return [*lines, *self.remark]

    @property
    def answer(self) -> str:
        """The id of the proposal."""
        return self.id

    @property
    def remark(self) -> list[str]:
        """To whom it was sent, and what it replaces."""
        lines = describe_receivers(self.delivered_to, self.queued_for).split("; ")
        lines += [f"supersedes {', '.join(map(short_id, self.supersedes))}"] if self.supersedes else []
        return lines

    @property
    def next_step(self) -> str:
        """How to take it back."""
        return "undo with: scopes undo"


def create_proposal(
    branch: BranchHandle,
    entity: str,
    changes: Sequence[NewChange],
    *,
    author: Author,
    before: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
    expires: str | None = None,
    delivery: Delivery | None = None,
) -> ProposalCreated:
    """Append a proposal to a branch.

    Args:
        branch: Where to append it.
        entity: Type and id of the entity, `task/42`.
        changes: The changes of its fields.
        author: The agent that proposes.
        before: Values that fields are expected to have now.
        details: Further fields of the document: rationale, confidence, category, ...
        expires: When it expires: a span of time from now, `7d`, or a date.
        delivery: Send it, in the same operation; and give it to the programs of its receivers.

    Raises:
        Invalid: a field or the entity is not valid.
        Refused: a field has another value than `before` states.
        NotFound, NoAvailableAgents: as `send` does.
        Busy: something of the branch was purged meanwhile; the values of before may be of it.
    """
    entity_type, slash, entity_id = entity.partition("/")
    if not (slash and entity_type.strip() and entity_id.strip()):
        raise Invalid(f"{entity!a} is not an entity: TYPE/ID", hint="for example: task/42")
    repository, tip = branch.repository, branch.tip
    state = state_of(repository, tip)
    current = {
        each.field: read_value(repository, state, value_path(entity_type, entity_id, each.field)) for each in changes
    }
    planned = tuple(_plan(each, current[each.field]) for each in changes)
    _check(planned, before or {})
    message = _compose(author, entity, planned, details or {}, expires)
    supersedes = tuple(
        each.id
        for each in read_proposals(repository, tip)
        if each.state == PENDING
        and (each.agent, each.entity) == (message.author.name, entity)
        and set(each.fields) & current.keys()
    )
    delivered_to: tuple[AgentName, ...] = ()
    queued_for: tuple[AgentName, ...] = ()
    notes = _note_unknown_approvers(branch, (details or {}).get("required_approvals") or ())
    if delivery is None:
        oid = append_to(branch, message, made_of=[tip]).oid
    else:
        routed = send(branch, message, delivery.to, queue=delivery.queue, made_of=[tip])
        oid, delivered_to, queued_for = routed.oid, routed.delivered_to, routed.queued_for
        sent = SentMessage(message.id, [routed.operation])
        notes = (*notes, *deliver_to_programs(repository, delivered_to, sent))
    return ProposalCreated(
        id=message.id,
        oid=oid,
        conversation=branch.conversation.id,
        branch=branch.name,
        entity_type=entity_type,
        entity_id=entity_id,
        changes=planned,
        supersedes=supersedes,
        delivered_to=delivered_to,
        queued_for=queued_for,
        notes=notes,
    )


def _compose(
    author: Author, entity: str, changes: Sequence[FieldChange], details: Mapping[str, Any], expires: str | None
) -> Message:
    """Return the message of a proposal.

    Raises:
        Invalid: the author, a field of the document or the expiry is not valid.
    """
    entity_type, _, entity_id = entity.partition("/")
    message = plain_message(check_author(author), _text_of(entity, changes, details), kind=KIND)
    document = {
        "entity_type": entity_type,
        "entity_id": entity_id,
        "changes": [_document(change) for change in changes],
        **details,
    }
    if expires is not None:
        document["expires_at"] = _parse_expiry(expires)
    from scopes.model.validation import check_payload

    check = check_payload  # imports pydantic
    try:
        return replace(message, payload=check(KIND, document))
    except Invalid as error:
        raise Invalid(error.message, hint="see: scopes help proposals create") from error


def _note_unknown_approvers(branch: BranchHandle, names: Sequence[str]) -> tuple[Note, ...]:
    """Return a note for each required approval of somebody who is not registered and has not written here.

    The proposal cannot be accepted without them: a misspelled name would be seen too late.
    """
    registry = Registry(branch.repository)
    unknown = [name for name in names if registry.find_named(name) is None]
    if not unknown:
        return ()
    known = {*participants_of(branch.repository, [read_commit(branch.repository, branch.tip)])}
    candidates: list[str] = sorted({agent.name for agent in registry.agents} | known)
    notes = []
    for name in unknown:
        if name not in known:
            near = find_nearest(name, candidates)
            register = shlex.join(["scopes", "agents", "register", name])
            hint = f"did you mean {' or '.join(near)}?" if near else f"register it: {register}"
            text = f"the approval of {name} is needed, who is not registered and has not written here"
            notes.append(Note(text, hint))
    return tuple(notes)


def _plan(change: NewChange, before: Any) -> FieldChange:
    if change.operation == "append":
        return FieldChange(change.field, "append", before, change.value)
    if change.operation == "delete" or change.value is None:
        return FieldChange(change.field, "delete", before, None)
    return FieldChange(change.field, "create" if before is None else "update", before, change.value)


def _check(changes: Sequence[FieldChange], before: Mapping[str, Any]) -> None:
    """Refuse changes that change nothing, two changes of one field, and values that are not as expected.

    Raises:
        Invalid: there are such changes.
        Refused: a field has another value than `before` states.
    """
    if not changes:
        raise Invalid("no change was given", hint="for example: scopes proposals create conv-001 task/42 status=done")
    wrong = next((each for each in changes if each.operation == "append" and not _can_append_to(each.before)), None)
    if wrong is not None:
        text = f"{wrong.field} is {show_value(wrong.before)}, which is not a list: += adds to a list"
        raise Invalid(text, hint=f"to replace the value: {wrong.field}=VALUE")
    names = [change.field for change in changes]
    double = next((name for name in names if not name.strip() or names.count(name) > 1), None)
    if double is not None:
        raise Invalid(f"the field {double!a} is changed twice or has no name", hint="give each field once")
    unknown = next((name for name in before if name not in names), None)
    if unknown is not None:
        raise Invalid(f"--before names the field {unknown!a}, which is not changed", hint="leave it out")
    other = next((each for each in changes if not is_same(each.before, before.get(each.field, each.before))), None)
    if other is not None:
        raise Refused(
            f"{other.field} is {show_value(other.before)}, not {show_value(before[other.field])}",
            hint="nothing was proposed; leave out --before to propose it for the value of now",
        )
    same = next((change for change in changes if is_same(change.before, change.result)), None)
    if same is not None:
        raise Invalid(f"{same.field} is {show_value(same.before)} already", hint="propose another value")


def _can_append_to(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _document(change: FieldChange) -> dict[str, Any]:
    document = {"field_path": change.field, "operation": change.operation, "before": change.before}
    return document if change.operation == "delete" else {**document, "after": change.after}


def _text_of(entity: str, changes: Sequence[FieldChange], details: Mapping[str, Any]) -> str:
    line = f"Proposal for {entity}: {', '.join(map(describe_change, changes))}"
    rationale = details.get("rationale")
    return f"{line}\n\n{rationale}" if rationale else line


def _parse_span(text: str, now: int) -> int:
    """Return the nanoseconds of a time span such as `7d`; negative for a date that is not past.

    `parse_date` reads a span as the time that was so long ago.

    Raises:
        Invalid: it is neither a span nor a date.
    """
    try:
        return now - parse_date(text, now)
    except Invalid as error:
        raise Invalid(f"--expires {text!a} is not a time", hint="for example: 12h, 7d, or 2030-01-31") from error


def _parse_expiry(text: str) -> str:
    """Return the time that a span from now or a date names, as RFC 3339.

    Raises:
        Invalid: it is not a time, or it is past.
    """
    now = now_nanoseconds()
    if _ABSOLUTE.match(text.strip()) and parse_time(text.strip()) is not None:
        end = parse_time(text.strip()) or 0
    else:
        end = now + _parse_span(text, now)
    if end <= now or _PAST.search(text) is not None:
        raise Invalid(f"--expires {text!a} is not in the future", hint="for example: --expires 7d")
    return format_time(end)
