"""Why something cannot be done to a proposal in its state, and what can be done instead."""

from __future__ import annotations

from shlex import quote

from scopes.errors import Refused
from scopes.proposals.proposal import ACCEPTED, APPLIED, PENDING, REJECTED, WITHDRAWN
from scopes.proposals.state import Located
from scopes.store.operations import walk_operations
from scopes.store.refs import branch_ref

ROLLED_BACK = "rolled back"
TESTED = "tested"
OUTCOME_STATED = "outcome stated"
_BACKWARD = frozenset({REJECTED, ROLLED_BACK})
_ACCEPTANCES = ("accept proposal ", "modify proposal ")  # the summaries of operations


def refusal(found: Located, wanted: str, text: str) -> Refused:
    """Return the error for what cannot be done to a proposal: its state, and what can be done instead.

    wanted: the state it should have had, `accepted`, `rejected` or `applied`; or one of the three words above
    text: the end of the message, such as `cannot be applied`
    """
    proposal = found.proposal
    name = f"proposal {proposal.id[:8]}"
    if proposal.rolled_back:
        what = f"{name} was rolled back already" if wanted == ROLLED_BACK else f"{name} was rolled back, and {text}"
    elif proposal.state == WITHDRAWN:
        done = "retracted" if proposal.is_retracted else "amended"
        what = f"{name} is withdrawn, because its message was {done}, and {text}"
    elif proposal.state == wanted:
        what = f"{name} is {wanted} already"
    else:
        what = f"{name} is {proposal.state} and {text}"
    return Refused(what, hint=_cure(found, wanted))


def _cure(found: Located, wanted: str) -> str:
    """Return what can be done; never the opposite of what was wanted."""
    state = found.proposal.state
    if state == PENDING:
        return _cure_of_pending(found, wanted)
    return _cure_of_accepted(found, wanted) if state == ACCEPTED else _cure_of_ended(found, wanted)


def _cure_of_ended(found: Located, wanted: str) -> str:
    """Return what can be done about a proposal that is applied, rejected, superseded, expired or withdrawn."""
    proposal, name = found.proposal, found.proposal.id[:12]
    is_applied = proposal.state == APPLIED and not proposal.rolled_back
    if is_applied and wanted == REJECTED:
        return f"take it back: scopes proposals rollback {name}"
    if is_applied or proposal.state == wanted == REJECTED or (proposal.rolled_back and wanted in _BACKWARD):
        return f"nothing needs to be done; see: scopes proposals show {name}"
    if proposal.superseded_by is not None:
        return f"see the newer one: scopes proposals show {proposal.superseded_by[:12]}"
    if wanted in _BACKWARD:
        return f"nothing needs to be done: it was never applied, and what is {proposal.state} cannot be accepted"
    return f"propose it again: scopes proposals create {quote(str(found.branch))} {quote(proposal.entity)} FIELD=VALUE"


def _cure_of_pending(found: Located, wanted: str) -> str:
    name = found.proposal.id[:12]
    if wanted == ROLLED_BACK:
        return f"nothing was applied; to decide against it: scopes proposals reject {name} --reason REASON"
    if wanted == OUTCOME_STATED:
        return f"say it in the decision: --reason TEXT of scopes proposals accept {name}, or reject {name}"
    return f"accept it first: scopes proposals accept {name}"


def _cure_of_accepted(found: Located, wanted: str) -> str:
    name = found.proposal.id[:12]
    if wanted == ACCEPTED:
        return f"it is accepted already; to apply it: scopes proposals apply {name}"
    if wanted not in _BACKWARD:
        return f"apply it first: scopes proposals apply {name}"
    acceptance = _find_acceptance(found)
    if acceptance is None:
        return "nothing changes before it is applied; an acceptance is withdrawn by undo, if no message came after it"
    return f"nothing was applied; withdraw the acceptance: scopes undo {quote(acceptance[:12])}"


def _find_acceptance(found: Located) -> str | None:
    """Return the operation that accepted a proposal if undo can take it back: no message came after it."""
    branch = found.branch
    ref = branch_ref(branch.conversation.id, branch.name)
    for _, operation in walk_operations(branch.repository):
        for change in operation.changes:
            if change.ref == ref:
                summary = operation.summary
                is_acceptance = summary.startswith(_ACCEPTANCES) and found.proposal.id[:8] in summary
                return operation.id if is_acceptance and change.new == found.tip else None
    return None
