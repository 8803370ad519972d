"""`append --kind feedback`: record how an applied proposal worked out; its state stays the same."""

from __future__ import annotations

from scopes.errors import Invalid
from scopes.model.message import Author
from scopes.proposals.proposal import APPLIED
from scopes.proposals.refusals import OUTCOME_STATED, refusal
from scopes.proposals.review import Feedback, feedback_details
from scopes.proposals.state import OUTCOME, locate
from scopes.proposals.steps import ProposalReviewed, Step, commit_steps, review_message
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


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
        raise Invalid(
            "there is no feedback",
            hint='for example: "the tests are faster now"',
        )
    with exclusive_write(repository):
        found = locate(repository, where, name)
        if found.proposal.state != APPLIED:
            raise refusal(found, OUTCOME_STATED, "has no outcome yet")
        message = review_message(found.proposal, author, OUTCOME, APPLIED, details)
        return commit_steps(found, found.proposal, [Step(message, {})], OUTCOME)
