"""The methods of a conversation that propose changes of entities, review proposals, and apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scopes.api.comparing import ComparingConversation
from scopes.history.handles import BranchHandle
from scopes.history.revisions import resolve_branch_name
from scopes.model.message import Author

if TYPE_CHECKING:
    from scopes.proposals.apply import ProposalTested
    from scopes.proposals.create import ProposalCreated
    from scopes.proposals.list import ProposalList, ProposalView
    from scopes.proposals.steps import ProposalReviewed


@dataclass(frozen=True, slots=True)
class ProposingConversation(ComparingConversation):
    """A conversation with proposals: named by their ids or unique prefixes, looked for on the active branch first."""

    def propose(
        self,
        entity: str,
        values: Mapping[str, Any],
        *,
        append: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        expires: str | None = None,
        to: Sequence[str] | None = None,
        queue: bool = False,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> ProposalCreated:
        """Propose new values for fields of an entity, named `TYPE/ID`; None removes the value of a field.

        append: values to add to fields that are lists.
        before: values that fields are expected to have now.
        details: further fields of the proposal: rationale, confidence, category, impact_assessment, ...
        expires: when it expires: `7d` from now, or a date.
        to: send it: names or numbers of agents, `@capability` or `all`; empty: to the reviewers.
        queue: send it also if nobody is available.
        """
        from scopes.proposals.create import Delivery, NewChange, create_proposal

        changes = [NewChange(field, "set", value) for field, value in values.items()]
        changes += [NewChange(field, "append", value) for field, value in (append or {}).items()]
        return create_proposal(
            BranchHandle(self, resolve_branch_name(self.repository, self.id, branch)),
            entity,
            changes,
            author=self._author(author),
            before=before,
            details=details,
            expires=expires,
            delivery=None if to is None else Delivery(to, queue),
        )

    def proposals(
        self,
        branch: str | None = None,
        *,
        state: str | None = None,
        agent: str | None = None,
        include_closed: bool = False,
    ) -> ProposalList:
        """Return the pending and accepted proposals; with `include_closed` all, or those in one state.

        branch: only those of this branch, with their state there.
        """
        from scopes.proposals.list import list_proposals

        where = self._name(branch)
        return list_proposals(self.repository, where, state=state, agent=agent, include_closed=include_closed)

    def proposal(self, name: str, branch: str | None = None) -> ProposalView:
        """Return a proposal with the messages that led to its state."""
        from scopes.proposals.list import show_proposal

        return show_proposal(self.repository, self._name(branch), name)

    def try_proposal(self, name: str, branch: str | None = None) -> ProposalTested:
        """Apply a proposal to a copy that is thrown away, and return what changed there; nothing is written."""
        from scopes.proposals.apply import try_proposal

        return try_proposal(self.repository, self._name(branch), name, author=self.author)

    def accept_proposal(
        self,
        name: str,
        *,
        apply: bool = True,
        feedback: str = "",
        rating: int | None = None,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> ProposalReviewed:
        """Accept a proposal and, unless `apply` is false, apply it.

        rating: from 1 to 5.
        """
        from scopes.proposals.review import Feedback
        from scopes.proposals.review import accept_proposal as accept_changes

        who, given = self._author(author), Feedback(feedback, rating)
        return accept_changes(self.repository, self._name(branch), name, author=who, feedback=given, apply=apply)

    def modify_proposal(
        self,
        name: str,
        values: Mapping[str, Any],
        *,
        apply: bool = True,
        feedback: str = "",
        rating: int | None = None,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> ProposalReviewed:
        """Accept a proposal with other values for some of its fields; raises as `accept_proposal` does."""
        from scopes.proposals.review import Feedback
        from scopes.proposals.review import modify_proposal as modify_changes

        who, given = self._author(author), Feedback(feedback, rating)
        where = self._name(branch)
        return modify_changes(self.repository, where, name, values, author=who, feedback=given, apply=apply)

    def reject_proposal(
        self,
        name: str,
        reason: str,
        *,
        feedback: str = "",
        rating: int | None = None,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> ProposalReviewed:
        """Reject a pending proposal; the reason is one of those of `scopes proposals reject`."""
        from scopes.proposals.review import Feedback
        from scopes.proposals.review import reject_proposal as reject_changes

        who, given = self._author(author), Feedback(feedback, rating)
        return reject_changes(self.repository, self._name(branch), name, reason=reason, author=who, feedback=given)

    def apply_proposal(
        self, name: str, *, author: Author | str | None = None, branch: str | None = None
    ) -> ProposalReviewed:
        """Apply an accepted proposal: its values become the accepted values of the entity."""
        from scopes.proposals.apply import apply_proposal as apply_changes

        return apply_changes(self.repository, self._name(branch), name, author=self._author(author))

    def rollback_proposal(
        self, name: str, reason: str = "", *, author: Author | str | None = None, branch: str | None = None
    ) -> ProposalReviewed:
        """Restore the values from before a proposal was applied."""
        from scopes.proposals.apply import rollback_proposal as roll_back

        return roll_back(self.repository, self._name(branch), name, author=self._author(author), reason=reason)

    def give_feedback(
        self,
        name: str,
        text: str = "",
        *,
        rating: int | None = None,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> ProposalReviewed:
        """Record how an applied proposal worked out."""
        from scopes.proposals.feedback import give_feedback as record_feedback
        from scopes.proposals.review import Feedback

        who = self._author(author)
        return record_feedback(self.repository, self._name(branch), name, Feedback(text, rating), author=who)
