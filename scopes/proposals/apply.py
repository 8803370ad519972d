"""`proposals apply`, `rollback` and `test`: change the accepted values of an entity, or find out what would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, NamedTuple

from scopes.errors import Conflicted
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.model.message import Author
from scopes.proposals.proposal import (
    ACCEPTED,
    APPLIED,
    EXPIRED,
    OPEN,
    PENDING,
    Proposal,
    is_same,
    read_value,
    show_value,
    value_claim,
    value_path,
)
from scopes.proposals.refusals import ROLLED_BACK, TESTED, refusal
from scopes.proposals.state import Located, locate
from scopes.proposals.steps import (
    ProposalReviewed,
    Step,
    ValueChange,
    commit_steps,
    removed_claims,
    require_transition,
    review_claim,
    review_message,
    write_steps,
)
from scopes.result import Column, Note, Result, short_id, shown, spread
from scopes.store.objects import BlobChange, Objects
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

TYPE_CHECKING = False


class Application(NamedTuple):
    """The step that applies a proposal or takes it back, the values it changes, and what expires with it."""

    step: Step
    values: tuple[ValueChange, ...]
    expired: tuple[MessageId, ...]


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


def apply_proposal(repository: Repository, where: str | None, name: str, *, author: Author) -> ProposalReviewed:
    """Apply an accepted proposal: its values become the accepted values of the entity.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not accepted.
        Conflicted: a field has another value than the proposal expects; nothing is changed (S4-59).
    """
    with exclusive_write(repository):
        found = locate(repository, where, name)
        require_transition(found, APPLIED)
        application = plan_application(found, author)
        return _write(found, application, "apply", replace(found.proposal, state=APPLIED))


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
            raise refusal(found, ROLLED_BACK, "cannot be rolled back")
        expected = {change.field: (change.result, change.before) for change in proposal.changes}
        values = _compare(repository, found.tip, proposal, expected)
        _require_no_conflict(values, f"show who changed it: scopes changes {quote(found.branch.conversation.id)}")
        changed, expired = _changes(repository, found, values)
        details = _details(proposal, values) | ({"reason": reason.strip()} if reason.strip() else {})
        message = review_message(proposal, author, "rollback", APPLIED, details)
        step = Step(message, {**changed, **review_claim(proposal, APPLIED, rolled_back=True)})
        return _write(found, Application(step, values, expired), "rollback", replace(proposal, rolled_back=True))


def try_proposal(repository: Repository, where: str | None, name: str, *, author: Author) -> ProposalTested:
    """Apply a proposal to a copy that is thrown away, and return what changed there; no ref moves.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it was rejected, superseded, withdrawn or applied.
    """
    found = locate(repository, where, name)
    proposal = found.proposal
    if proposal.state not in {PENDING, ACCEPTED, EXPIRED}:
        raise refusal(found, TESTED, "cannot be tested")
    values = compare_values(repository, found.tip, proposal)
    expired: tuple[MessageId, ...] = ()
    if not any(value.conflict for value in values):
        from scopes.store.packs import bulk_objects

        with bulk_objects(repository, keep=False) as objects:
            application = plan_application(found, author)
            tip = write_steps(objects, found.tip, [application.step])
            after = {each.field: _read(objects, tip, proposal, each.field) for each in values}
            values = tuple(each._replace(after=after[each.field]) for each in values)
            expired = application.expired
    hint = f"see: scopes proposals show {quote(proposal.id[:12])}"
    notes = () if proposal.state in OPEN else (Note("the proposal has expired and cannot be accepted", hint),)
    return ProposalTested(
        conversation=found.branch.conversation.id,
        branch=found.branch.name,
        proposal=proposal,
        values=values,
        expired=expired,
        notes=notes,
    )


def plan_application(found: Located, author: Author) -> Application:
    """Return the step that applies a proposal on its branch.

    Raises:
        Conflicted: a field has another value than the proposal expects.
    """
    repository, proposal = found.branch.repository, found.proposal
    values = compare_values(repository, found.tip, proposal)
    again = f"propose it again: scopes proposals create {quote(str(found.branch))} {quote(proposal.entity)} FIELD=VALUE"
    _require_no_conflict(values, again)
    changed, expired = _changes(repository, found, values)
    message = review_message(proposal, author, "apply", APPLIED, _details(proposal, values))
    changes = {**removed_claims(repository, found.tip, proposal), **changed, **review_claim(proposal, APPLIED)}
    return Application(Step(message, changes), values, expired)


def compare_values(objects: Objects, tip: Oid, proposal: Proposal) -> tuple[ValueChange, ...]:
    """Return what a proposal would change in the accepted values of a tip."""
    expected = {change.field: (change.before, change.result) for change in proposal.changes}
    return _compare(objects, tip, proposal, expected)


def _compare(
    objects: Objects, tip: Oid, proposal: Proposal, expected: Mapping[str, tuple[Any, Any]]
) -> tuple[ValueChange, ...]:
    """Compare the values of a tip with the expected ones; `expected` has the value before and after by field."""
    values = []
    for name, (before, after) in expected.items():
        current = _read(objects, tip, proposal, name)
        values.append(ValueChange(name, before, current, after, not is_same(before, current)))
    return tuple(values)


def _read(objects: Objects, tip: Oid, proposal: Proposal, field: str) -> Any:
    return read_value(objects, state_of(objects, tip), value_path(proposal.entity_type, proposal.entity_id, field))


def _require_no_conflict(values: Sequence[ValueChange], hint: str) -> None:
    wrong = [each for each in values if each.conflict]
    if wrong:
        texts = (f"{each.field} is {show_value(each.current)}, not {show_value(each.before)}" for each in wrong)
        raise Conflicted(f"the entity has changed: {'; '.join(texts)}", hint=hint)


def _changes(
    objects: Objects, found: Located, values: Sequence[ValueChange]
) -> tuple[dict[str, BlobChange], tuple[MessageId, ...]]:
    """Return the changes to the state that set values, and the other proposals that expire with that.

    What has expired is recorded, so that it stays so when the values return.
    """
    proposal = found.proposal
    after = {each.field: each.after for each in values}
    changes: dict[str, BlobChange] = {
        value_path(proposal.entity_type, proposal.entity_id, field): value_claim(value)
        for field, value in after.items()
    }
    expired = []
    for other in found.proposals:
        if other.id == proposal.id or other.entity != proposal.entity or other.state not in {PENDING, EXPIRED}:
            continue
        stale = any(each.field in after and not is_same(after[each.field], each.before) for each in other.changes)
        if other.state == EXPIRED or stale:
            changes |= {**removed_claims(objects, found.tip, other), **review_claim(other, EXPIRED)}
        if other.state == PENDING and stale:
            expired.append(other.id)
    return changes, tuple(expired)


def _details(proposal: Proposal, values: Sequence[ValueChange]) -> dict[str, Any]:
    changes = [{"field": each.field, "before": each.current, "after": each.after} for each in values]
    return {"entity_type": proposal.entity_type, "entity_id": proposal.entity_id, "changes": changes}


def _write(found: Located, application: Application, decision: str, proposal: Proposal) -> ProposalReviewed:
    done = commit_steps(found, proposal, [application.step], decision)
    return replace(done, values=application.values, expired=application.expired)
