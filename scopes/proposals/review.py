"""The verbs of `proposals` that write: create, decide about a proposal, apply it, take it back, say how it worked out.

What one command writes is one operation. An accepted proposal is applied at once unless that is left for later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Final, Literal, NamedTuple

from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import Registry
from scopes.agents.send import describe_receivers, send
from scopes.clock import format_time, now_nanoseconds, parse_date, parse_time
from scopes.conversation.append import append_to
from scopes.errors import Conflicted, Invalid, Refused
from scopes.history.handles import BranchHandle
from scopes.history.messages import check_author, plain_message, write_message_blob, write_message_commit
from scopes.history.transaction import Transaction, signs_as
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.compare import state_of
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.message import APPROVALS, REVIEWS, Author, Message
from scopes.proposals.proposal import (
    ACCEPTED,
    APPLIED,
    EXPIRED,
    KIND,
    OPEN,
    OUTCOME,
    PENDING,
    REJECTED,
    REVIEW,
    TRANSITIONS,
    WITHDRAWN,
    FieldChange,
    Located,
    Proposal,
    describe_change,
    is_same,
    locate,
    path_of,
    read_proposals,
    read_value,
    show_value,
    value_claim,
    value_path,
)
from scopes.result import Column, Note, Result, short_id, shown, spread
from scopes.store.objects import BlobChange, Objects, find_blob
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

MAX_RATING: Final = 5
REJECTION_REASONS: Final = (
    "incorrect-analysis", "unwanted-change", "poor-timing", "insufficient-context", "better-alternative-exists",
    "too-risky", "other",
)  # fmt: skip
_DATE: Final = re.compile(r"[0-9]{4}-.*")
_SPAN: Final = re.compile(r"[0-9]+\s*[a-z]+", re.IGNORECASE)


class NewChange(NamedTuple):
    """A change as it is asked for; `set` creates or updates the value."""

    field: str
    operation: Literal["set", "append", "delete"]
    value: Any = None


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
    to: Sequence[str] | None = None,
    queue: bool = False,
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
        to: Send it in the same operation, to whom `send` does: empty is to reviewers; None: it is not sent.
        queue: Send it also if nobody is available.

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
    state, planned = state_of(repository, tip), []
    for name, wish, value in changes:
        now = read_value(repository, state, value_path(entity_type, entity_id, name))
        made = wish if wish != "set" else "delete" if value is None else "create" if now is None else "update"
        planned.append(FieldChange(name, made, now, None if made == "delete" else value))
    _check_changes(planned, before or {})
    given = details or {}
    line = f"Proposal for {entity}: {', '.join(map(describe_change, planned))}"
    text = f"{line}\n\n{given['rationale']}" if given.get("rationale") else line
    document = {
        "entity_type": entity_type,
        "entity_id": entity_id,
        "changes": [_document(change) for change in planned],
        **given,
        **({} if expires is None else {"expires_at": _parse_expiry(expires)}),
    }
    message = replace(plain_message(check_author(author), text, kind=KIND), payload=_check_document(document))
    supersedes = tuple(
        each.id
        for each in read_proposals(repository, tip)
        if each.state == PENDING
        and (each.agent, each.entity) == (author.name, entity)
        and not {*each.fields}.isdisjoint(change.field for change in planned)
    )
    done = ProposalCreated(
        id=message.id,
        oid=tip,
        conversation=branch.conversation.id,
        branch=branch.name,
        entity_type=entity_type,
        entity_id=entity_id,
        changes=tuple(planned),
        supersedes=supersedes,
        notes=_note_unknown_approvers(repository, given.get("required_approvals") or ()),
    )
    if to is None:
        return replace(done, oid=append_to(branch, message, made_of=[tip]).oid)
    routed = send(branch, message, to, queue=queue, made_of=[tip])
    failures = deliver_to_programs(repository, routed.delivered_to, SentMessage(message.id, [routed.operation]))
    return replace(
        done,
        oid=routed.oid,
        delivered_to=routed.delivered_to,
        queued_for=routed.queued_for,
        notes=(*done.notes, *failures),
    )


def _check_changes(changes: Sequence[FieldChange], before: Mapping[str, Any]) -> None:
    """Refuse changes that change nothing, two changes of one field, and values that are not as expected.

    Raises:
        Invalid: there are such changes.
        Refused: a field has another value than `before` states.
    """
    if not changes:
        raise Invalid("no change was given", hint="for example: scopes proposals create conv-001 task/42 status=done")
    names = [change.field for change in changes]
    unknown = next((name for name in before if name not in names), None)
    if unknown is not None:
        raise Invalid(f"--before names the field {unknown!a}, which is not changed", hint="leave it out")
    for each in changes:
        if not each.field.strip() or names.count(each.field) > 1:
            raise Invalid(f"the field {each.field!a} is changed twice or has no name", hint="give each field once")
        present = show_value(each.before)
        if each.operation == "append" and not isinstance(each.before, list | None):
            text = f"{each.field} is {present}, which is not a list: += adds to a list"
            raise Invalid(text, hint=f"to replace the value: {each.field}=VALUE")
        if not is_same(each.before, before.get(each.field, each.before)):
            raise Refused(
                f"{each.field} is {present}, not {show_value(before[each.field])}",
                hint="nothing was proposed; leave out --before to propose it for the value of now",
            )
        if is_same(each.before, each.result):
            raise Invalid(f"{each.field} is {present} already", hint="propose another value")


def _document(change: FieldChange) -> dict[str, Any]:
    document = {"field_path": change.field, "operation": change.operation, "before": change.before}
    return document if change.operation == "delete" else {**document, "after": change.after}


def _check_document(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of a proposal as it is stored.

    Raises:
        Invalid: a field of it is not valid.
    """
    from scopes.model.validation import check_payload  # imports pydantic

    try:
        return check_payload(KIND, document)
    except Invalid as error:
        raise Invalid(error.message, hint="see: scopes help proposals create") from error


def _note_unknown_approvers(repository: Repository, names: Sequence[str]) -> tuple[Note, ...]:
    """Return a note for each required approval of an unknown name: a misspelled one would be seen too late."""
    registry = Registry(repository)
    unknown = [name for name in names if registry.find_named(name) is None]
    hint = "see who is: scopes agents list"
    return tuple(Note(f"the approval of {name} is needed, who is not registered", hint) for name in unknown)


def _parse_expiry(text: str) -> str:
    """Return the time that a span from now or a date names, as RFC 3339.

    Raises:
        Invalid: it is not a time, or it is past.
    """
    now, end = now_nanoseconds(), None
    if _DATE.fullmatch(text.strip()):
        end = parse_time(text.strip())
    elif _SPAN.fullmatch(text.strip()):
        end = now + (now - parse_date(text, now))  # it reads a span as the time that was so long ago
    if end is None:
        raise Invalid(f"--expires {text!a} is not a time", hint="for example: 12h, 7d, or 2030-01-31")
    if end <= now:
        raise Invalid(f"--expires {text!a} is not in the future", hint="for example: --expires 7d")
    return format_time(end)


class ValueChange(NamedTuple):
    """The accepted value of a field: what a proposal expects, what there is, and what would be instead."""

    field: str
    before: Any
    current: Any
    after: Any
    conflict: bool

    def document(self) -> dict[str, object]:
        """Return the change as JSON; a value is null if there is none."""
        return self._asdict()

    @property
    def texts(self) -> dict[str, str]:
        """The values as text."""
        return {name: show_value(getattr(self, name)) for name in ("before", "current", "after")}


class Feedback(NamedTuple):
    """What a reviewer says about a proposal; `rating` is from 1 to 5."""

    text: str = ""
    rating: int | None = None


class _Step(NamedTuple):
    """A message, the changes to the state that come with it, and what these change."""

    message: Message
    changes: Mapping[str, BlobChange]
    values: tuple[ValueChange, ...] = ()
    expired: tuple[MessageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalReviewed(Result):
    """A proposal whose state was changed on a branch.

    Attributes:
        proposal: The proposal with its new state.
        decision: `accept`, `approve`, `reject`, `modify`, `apply`, `rollback`, or `outcome`, which is feedback.
        messages: The new messages; a proposal that is applied when it is accepted has two.
        values: The accepted values that were changed.
        expired: Other proposals that this makes expire.
        waiting_for: Who has to approve it too.
    """

    conversation: ConversationId
    branch: BranchName
    proposal: Proposal = field(
        metadata=spread(
            id="id", state="state", rolled_back="rolled_back", entity_type="entity_type", entity_id="entity_id"
        )
    )
    decision: str
    messages: tuple[MessageId, ...]
    operation: OperationId
    values: tuple[ValueChange, ...] = ()
    expired: tuple[MessageId, ...] = ()
    waiting_for: tuple[str, ...] = ()

    @property
    def sentence(self) -> list[str]:
        """The new state and the values that were changed."""
        proposal = self.proposal
        verb = "is still" if self.waiting_for or self.decision == OUTCOME else "is now"
        state = "rolled back" if self.decision == "rollback" else proposal.shown_state
        lines = [f"proposal {short_id(proposal.id)} for {proposal.entity} {verb} {state}"]
        lines += [f"    {each.field}: {each.texts['current']} -> {each.texts['after']}" for each in self.values]
        return [*lines, *self.remark]

    @property
    def answer(self) -> str:
        """The id of the proposal."""
        return self.proposal.id

    @property
    def remark(self) -> list[str]:
        """Who has to approve it too, and what has expired."""
        lines = [f"waiting for the approval of {', '.join(self.waiting_for)}"] if self.waiting_for else []
        lines += [f"expired: {', '.join(map(short_id, self.expired))}"] if self.expired else []
        return lines

    @property
    def next_step(self) -> str:
        """How to apply an accepted one."""
        name = quote(short_id(self.proposal.id))
        return f"apply it: scopes proposals apply {name}" if self.proposal.state == ACCEPTED else ""


def accept_proposal(
    repository: Repository,
    where: str | None,
    name: str,
    *,
    author: Author,
    values: Mapping[str, Any] | None = None,
    feedback: Feedback | None = None,
    apply: bool = True,
) -> ProposalReviewed:
    """Accept a pending proposal and, with `apply`, apply it in the same operation.

    If it needs the approval of several, it is accepted when the last of them accepts it.

    values: other values than the proposed ones, by field; then nobody else may have to approve it.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not pending, or the approval of somebody else is needed.
        Invalid: the rating is not one, or the proposal does not change a field of `values`.
    """
    details = feedback_details(feedback)
    with exclusive_write(repository):
        found = locate(repository, where, name)
        proposal = found.proposal
        _require(found, ACCEPTED)
        approval: dict[str, BlobChange] = {}
        if values:
            others = [each for each in proposal.required_approvals if each != author.name]
            unknown = next((each for each in values if each not in proposal.fields), None)
            if unknown is not None:
                fields = ", ".join(proposal.fields)
                raise Invalid(f"the proposal does not change {unknown!a}", hint=f"its fields: {fields}")
            if others:
                create = f"scopes proposals create {quote(str(found.branch))} {quote(proposal.entity)} ..."
                text = f"a change of the proposal needs the approval of {', '.join(others)} too"
                raise Refused(text, hint=f"let them approve the new values: {create}")
            found = found._replace(proposal=proposal.modify(values))
            details = {**details, "values": dict(values)}
        else:
            waiting_for, approval = _approve(found, author)
            if waiting_for:
                message = _message(proposal, author, "approve", PENDING, details)
                approved = replace(proposal, approvals=tuple(sorted({*proposal.approvals, author.name})))
                done = _write(found, approved, "approve", [_Step(message, approval)])
                return replace(done, waiting_for=waiting_for)
        decision = "modify" if values else "accept"
        proposal, state = found.proposal, APPLIED if apply else ACCEPTED
        message = _message(proposal, author, decision, ACCEPTED, details)
        steps = [_Step(message, {**approval, **_claim(proposal, ACCEPTED)})]
        if apply:
            steps.append(_plan_application(found, author))
        done = _write(found, replace(proposal, state=state), decision, steps)
        is_own = author.name == proposal.agent
        return replace(done, notes=(Note(f"{proposal.agent} decided about a proposal of its own"),) if is_own else ())


def _approve(found: Located, author: Author) -> tuple[tuple[str, ...], dict[str, BlobChange]]:
    """Return who else has to approve a proposal, and the change to the state that records the approval of an author.

    Raises:
        Refused: the author need not approve it, or has done so.
    """
    proposal = found.proposal
    missing = tuple(name for name in proposal.required_approvals if name not in proposal.approvals)
    if not missing:
        return (), {}
    if author.name not in missing:
        done = "has approved it already" if author.name in proposal.approvals else "is not asked to approve it"
        hint = f"scopes proposals accept {proposal.id[:12]} --as {quote(missing[0])}"
        raise Refused(f"{author.name} {done}", hint=f"it waits for {', '.join(missing)}: {hint}")
    claim: dict[str, BlobChange] = {leaf(APPROVALS, proposal.id, author.name): canonical_json.dump({"approved": True})}
    return tuple(name for name in missing if name != author.name), claim


def reject_proposal(
    repository: Repository,
    where: str | None,
    name: str,
    *,
    reason: str,
    author: Author,
    feedback: Feedback | None = None,
) -> ProposalReviewed:
    """Reject a pending proposal, for one of REJECTION_REASONS.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not pending.
        Invalid: there is no such reason, or it is `other` and nothing was said about it.
    """
    word = reason.strip().lower().replace("_", "-")
    if word not in REJECTION_REASONS:
        raise Invalid(f"{reason!a} is not a reason to reject", hint="reasons: " + ", ".join(REJECTION_REASONS))
    details = {"reason": word, **feedback_details(feedback)}
    if word == "other" and "feedback" not in details:
        raise Invalid("the reason other needs a text", hint="for example: --reason 'not before the release'")
    with exclusive_write(repository):
        found = locate(repository, where, name)
        _require(found, REJECTED)
        message = _message(found.proposal, author, "reject", REJECTED, details)
        changes = {**_removed_claims(repository, found), **_claim(found.proposal, REJECTED)}
        return _write(found, replace(found.proposal, state=REJECTED), "reject", [_Step(message, changes)])


def apply_proposal(repository: Repository, where: str | None, name: str, *, author: Author) -> ProposalReviewed:
    """Apply an accepted proposal: its values become the accepted values of the entity.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not accepted.
        Conflicted: a field has another value than the proposal expects; nothing is changed (S4-59).
    """
    with exclusive_write(repository):
        found = locate(repository, where, name)
        _require(found, APPLIED)
        return _write(found, replace(found.proposal, state=APPLIED), "apply", [_plan_application(found, author)])


def rollback_proposal(
    repository: Repository, where: str | None, name: str, *, author: Author, reason: str = ""
) -> ProposalReviewed:
    """Restore the values from before a proposal was applied, by a new message; once.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not applied, or was rolled back already.
        Conflicted: a value was changed since; nothing is changed.
    """
    with exclusive_write(repository):
        found = locate(repository, where, name)
        proposal = found.proposal
        if proposal.state != APPLIED or proposal.rolled_back:
            raise _refusal(found, "cannot be rolled back")
        values = _compare(repository, found, {each.field: (each.result, each.before) for each in proposal.changes})
        _require_no_conflict(values, f"show who changed it: scopes changes {quote(found.branch.conversation.id)}")
        details = {**_values_document(proposal, values), **({"reason": reason.strip()} if reason.strip() else {})}
        message = _message(proposal, author, "rollback", APPLIED, details)
        changes = {**_value_claims(proposal, values), **_claim(proposal, APPLIED, rolled_back=True)}
        step = _Step(message, changes, values, _expired_with(found, values))
        return _write(found, replace(proposal, rolled_back=True), "rollback", [step])


def give_feedback(
    repository: Repository, where: str | None, name: str, feedback: Feedback, *, author: Author
) -> ProposalReviewed:
    """Append a message that says how a proposal worked out that was applied, also if it was rolled back.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it was not applied.
        Invalid: there is neither a text nor a rating, or the rating is not one.
    """
    details = feedback_details(feedback)
    if not details:
        raise Invalid("there is no feedback", hint='for example: "the tests are faster now"')
    with exclusive_write(repository):
        found = locate(repository, where, name)
        if found.proposal.state != APPLIED:
            raise _refusal(found, "has no outcome yet")
        message = _message(found.proposal, author, OUTCOME, APPLIED, details)
        return _write(found, found.proposal, OUTCOME, [_Step(message, {})])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalTested(Result):
    """What applying a proposal would do; nothing was changed.

    `expired` are the other proposals that would expire.
    """

    kind = "proposal-test"
    rows_in = "values"
    columns = (
        Column("field"),
        Column("texts.before"),
        Column("texts.current"),
        Column("texts.after"),
        Column("conflict"),
    )

    conversation: ConversationId
    branch: BranchName
    proposal: Proposal = field(
        metadata=spread(id="id", state="state", entity_type="entity_type", entity_id="entity_id")
    )
    values: tuple[ValueChange, ...]
    expired: tuple[MessageId, ...] = ()

    @property
    def sentence(self) -> list[str]:
        """Whether it can be applied, and what would expire."""
        outcome = "would stop on a conflict" if self.conflicts else "can be applied"
        lines = [f"proposal {short_id(self.proposal.id)} for {self.proposal.entity} {outcome}"]
        lines += [f"would expire: {', '.join(map(short_id, self.expired))}"] if self.expired else []
        return lines

    @property
    @shown
    def conflicts(self) -> int:
        """The number of fields that have another value than the proposal expects."""
        return sum(value.conflict for value in self.values)

    @property
    def exit_code(self) -> int:
        """Three if it would stop on a conflict."""
        return 3 if self.conflicts else 0


def try_proposal(repository: Repository, where: str | None, name: str) -> ProposalTested:
    """Return what applying a proposal would change; nothing is written.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it was rejected, superseded, withdrawn or applied.
    """
    found = locate(repository, where, name)
    proposal = found.proposal
    if proposal.state not in {*OPEN, EXPIRED}:
        raise _refusal(found, "cannot be tested")
    values = _compare(repository, found)
    hint = f"see: scopes proposals show {quote(proposal.id[:12])}"
    notes = () if proposal.state in OPEN else (Note("the proposal has expired and cannot be accepted", hint),)
    return ProposalTested(
        conversation=found.branch.conversation.id,
        branch=found.branch.name,
        proposal=proposal,
        values=values,
        expired=() if any(value.conflict for value in values) else _expired_with(found, values),
        notes=notes,
    )


def feedback_details(feedback: Feedback | None) -> dict[str, Any]:
    """Return the fields of a message that hold what a reviewer says.

    Raises:
        Invalid: the rating is not one.
    """
    text, rating = feedback or Feedback()
    if rating is not None and not 1 <= rating <= MAX_RATING:
        raise Invalid(f"{rating} is not a rating", hint=f"from 1 to {MAX_RATING}")
    known = {"feedback": text.strip() or None, "rating": rating}
    return {name: value for name, value in known.items() if value is not None}


def _plan_application(found: Located, author: Author) -> _Step:
    """Return the step that applies a proposal on its branch.

    Raises:
        Conflicted: a field has another value than the proposal expects.
    """
    repository, proposal = found.branch.repository, found.proposal
    values = _compare(repository, found)
    again = f"propose it again: scopes proposals create {quote(str(found.branch))} {quote(proposal.entity)} FIELD=VALUE"
    _require_no_conflict(values, again)
    message = _message(proposal, author, "apply", APPLIED, _values_document(proposal, values))
    changes = {
        **_removed_claims(repository, found),
        **_value_claims(proposal, values),
        **_claim(proposal, APPLIED),
    }
    return _Step(message, changes, values, _expired_with(found, values))


def _compare(
    objects: Objects, found: Located, expected: Mapping[str, tuple[Any, Any]] | None = None
) -> tuple[ValueChange, ...]:
    """Compare the accepted values with those that a proposal expects; `expected` has values before and after."""
    proposal, state, values = found.proposal, state_of(objects, found.tip), []
    if expected is None:
        expected = {each.field: (each.before, each.result) for each in proposal.changes}
    for name, (before, after) in expected.items():
        current = read_value(objects, state, path_of(proposal, name))
        values.append(ValueChange(name, before, current, after, not is_same(before, current)))
    return tuple(values)


def _require_no_conflict(values: Sequence[ValueChange], hint: str) -> None:
    wrong = [each for each in values if each.conflict]
    if wrong:
        texts = (f"{each.field} is {show_value(each.current)}, not {show_value(each.before)}" for each in wrong)
        raise Conflicted(f"the entity has changed: {'; '.join(texts)}", hint=hint)


def _expired_with(found: Located, values: Sequence[ValueChange]) -> tuple[MessageId, ...]:
    """Return the other pending proposals that are about values which are then no longer there."""
    after = {each.field: each.after for each in values}
    return tuple(
        other.id
        for other in found.proposals
        if other.id != found.proposal.id and other.entity == found.proposal.entity and other.state == PENDING
        if any(each.field in after and not is_same(after[each.field], each.before) for each in other.changes)
    )


def _value_claims(proposal: Proposal, values: Sequence[ValueChange]) -> dict[str, BlobChange]:
    return {path_of(proposal, each.field): value_claim(each.after) for each in values}


def _removed_claims(objects: Objects, found: Located) -> dict[str, BlobChange]:
    """Return the changes to the state that remove what a proposal claims; not what a newer one does."""
    state, claims = state_of(objects, found.tip), found.proposal.claims
    return {path: None for path, claim in claims.items() if state and find_blob(objects, state, path) == claim}


def _claim(proposal: Proposal, state: str, **fields: Any) -> dict[str, BlobChange]:
    """Return the change to the state that records the state of a proposal; claims alone, without author and reason."""
    modified = {"after": dict(proposal.modified)} if proposal.modified else {}
    return {leaf(REVIEWS, proposal.id): canonical_json.dump({"status": state, **modified, **fields})}


def _values_document(proposal: Proposal, values: Sequence[ValueChange]) -> dict[str, Any]:
    changes = [{"field": each.field, "before": each.current, "after": each.after} for each in values]
    return {"entity_type": proposal.entity_type, "entity_id": proposal.entity_id, "changes": changes}


def _message(proposal: Proposal, author: Author, decision: str, state: str, details: Mapping[str, Any]) -> Message:
    """Return the message of a review; `state` is the state of the proposal after it."""
    text = f"{decision} the proposal for {proposal.entity} by {proposal.agent}"
    words = [str(details[name]) for name in ("reason", "feedback") if details.get(name)]
    message = plain_message(check_author(author), f"{text}: {': '.join(words)}" if words else text, kind="notice")
    document = {"proposal": proposal.id, "decision": decision, "state": state, **details}
    return replace(message, reply_to=proposal.id, extra={REVIEW: document})


def _write(found: Located, proposal: Proposal, decision: str, steps: Sequence[_Step]) -> ProposalReviewed:
    """Write steps on the branch of a proposal, as one operation; requires `exclusive_write`.

    proposal: with its new state

    Raises:
        Busy, Inaccessible: nothing was written.
    """
    branch = found.branch
    tx, tip = Transaction(branch.repository, branch.conversation.id), found.tip
    for step in steps:
        blob = write_message_blob(branch.repository, step.message)
        sign = signs_as(branch.repository, step.message.author)
        tip = write_message_commit(branch.repository, tip, step.message, blob, state_changes=step.changes, sign=sign)
    tx.move_branch(branch.name, found.tip, tip)
    operation = tx.commit("review", f"{decision} proposal {proposal.id[:8]} of {branch}")
    return ProposalReviewed(
        conversation=branch.conversation.id,
        branch=branch.name,
        proposal=proposal,
        decision=decision,
        messages=tuple(each.message.id for each in steps),
        operation=operation.id,
        values=steps[-1].values,
        expired=steps[-1].expired,
    )


def _require(found: Located, state: str) -> None:
    """Refuse a change that does not follow from the state of a proposal.

    Raises:
        Refused: the new state does not follow from it.
    """
    if state not in TRANSITIONS.get(found.proposal.state, ()):
        is_there = found.proposal.state == state and not found.proposal.rolled_back
        raise _refusal(found, "" if is_there else f"cannot be {state}")


def _refusal(found: Located, text: str) -> Refused:
    """Return the error for what cannot be done to a proposal: its state, and what can be done in that.

    text: what is refused, such as `cannot be applied`; empty if it is in the wanted state already
    """
    proposal, name = found.proposal, found.proposal.id[:12]
    state = "rolled back" if proposal.rolled_back else proposal.state
    if state == WITHDRAWN:
        state = f"withdrawn, because its message was {proposal.withdrawal},"
    cures = {
        PENDING: f"accept or reject it: scopes proposals accept {name}",
        ACCEPTED: f"apply it: scopes proposals apply {name}; or take the acceptance back: scopes undo",
        APPLIED: f"take it back: scopes proposals rollback {name}",
    }
    hint = cures.get(state, f"see how it got there: scopes proposals show {name}")
    return Refused(f"proposal {proposal.id[:8]} is {state} {f'and {text}' if text else 'already'}", hint=hint)
