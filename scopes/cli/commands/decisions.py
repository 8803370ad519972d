"""`scopes decisions`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST, LatestScope, Reason, Text, author_of, option
from scopes.cli.words import find_messages, read_where
from scopes.errors import Invalid


def decisions(
    invocation: Invocation,
    where: LatestScope = LATEST,
    reason: Reason = "",
    candidates: Annotated[bool, option("--candidates", "List sentences that seem to state one")] = False,
    accept: Annotated[Text, option("--accept ID", "Make a decision of this candidate")] = None,
    dismiss: Annotated[Text, option("--dismiss ID", "Take this candidate off the list")] = None,
    withdraw: Annotated[Text, option("--withdraw TOPIC", "Take back the decision about this topic")] = None,
    topic: Annotated[Text, option("--topic TOPIC", "With --accept: what it is about")] = None,
) -> int:
    """List decisions, and sentences that may be some.

    A decision is in effect, superseded, withdrawn, or of another branch. A candidate is a sentence that may state a
    decision; merges ignore it until it is accepted.

    Examples:
      scopes decisions
      scopes decisions --candidates
      scopes decisions --accept 4fz2 --topic cookies
      scopes decisions --withdraw cookies --reason 'the tests are too slow'
    """
    tasks = {"--candidates": candidates, "--accept": accept, "--dismiss": dismiss, "--withdraw": withdraw}
    given = [name for name, value in tasks.items() if value]
    if len(given) > 1:
        raise Invalid(f"{' and '.join(given)} cannot be combined", hint="leave out all but one")
    if topic is not None and accept is None:
        raise Invalid("--topic belongs to --accept", hint="for example: scopes decisions --accept ID --topic cookies")
    if reason and not (dismiss or withdraw):
        raise Invalid("--reason belongs to --dismiss or --withdraw", hint="leave it out")
    invocation.writes = bool(accept or dismiss or withdraw)
    repository = invocation.repository()
    place = read_where(repository, where)
    if not invocation.writes:
        from scopes.conversation.decisions import decisions as list_decisions
        from scopes.memory.decision_candidates import list_candidates

        return invocation.show(list_candidates(repository, place) if candidates else list_decisions(repository, place))
    author = author_of(invocation)
    if withdraw:
        from scopes.conversation.decisions import withdraw_decision

        return invocation.show(
            withdraw_decision(repository, place, withdraw, reason=reason, author=author, dry_run=invocation.dry_run)
        )
    from scopes.memory.decision_candidates import accept_candidate, dismiss_candidate

    name = accept or dismiss or ""
    if where == LATEST:  # its message names the conversation
        [(found, _)] = find_messages(repository, [name.partition(".")[0]])
        place = found.partition("/")[0]
    if accept:
        conversation, _, branch = place.partition("/")
        return invocation.show(
            accept_candidate(repository, conversation, name, topic=topic, author=author, branch=branch or None)
        )
    return invocation.show(dismiss_candidate(repository, place, name, reason=reason, author=author))
