"""Word the evidence of a recorded link: each fact once, also of a commit that was amended and rebased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from scopes.code_links.link import CodeLink, CommitId, Evidence, LinkedTurn
from scopes.ids import MessageId

Detour: TypeAlias = Literal["", "rewritten", "same"]
SHELL = "recorded in a shell of this session"


class RecordedFact(NamedTuple):
    """A record of a commit in a conversation.

    commit: the one that was recorded
    detour: how that leads to the commit of the link: it is the same one, was rewritten as it, or has the same identity
    is_shell: a hook of git has seen it; else it was found at the end of a turn
    """

    commit: CommitId
    detour: Detour
    is_shell: bool
    turn: int | None
    message: MessageId | None
    call_id: str | None


def with_evidence(link: CodeLink, facts: Sequence[RecordedFact]) -> CodeLink:
    """Return a link with the evidence of its records, and the turns of all of them: who amended it made it, too.

    Records of a commit with the same author, time and subject count only if there are no others. A shell knows the turn
    of its commit: of another turn, which began in the second of the commit, it is none.
    """
    chosen = _without_next_turn([fact for fact in facts if fact.detour != "same"] or facts)
    is_one_turn = all(fact.turn in {None, link.turn} for fact in chosen)
    found: dict[str, Evidence] = {}
    for fact in chosen:
        text = SHELL if fact.is_shell else _name_turn(fact, None if is_one_turn else fact.turn)
        known = found.get(text)
        if known is None or known.call_id is None:
            found[text] = Evidence("recorded", text, fact.call_id)
    first, *more = found.values()
    evidence = (first._replace(text=first.text + _describe_detours(chosen)), *more)
    turns = {
        fact.turn: LinkedTurn(fact.turn, fact.message)
        for fact in chosen
        if fact.turn is not None and fact.message is not None
    }
    return replace(link, evidence=evidence, turns=tuple(turns[number] for number in sorted(turns)))


def _without_next_turn(facts: Sequence[RecordedFact]) -> list[RecordedFact]:
    """Leave out the end of a turn in which HEAD moved to a commit that a shell made in another one.

    A person may have rewritten it since: then the turn has no call that made the new one.
    """
    shells = {(fact.commit, fact.turn) for fact in facts if fact.is_shell and fact.turn is not None}
    commits, turns = {commit for commit, _ in shells}, {turn for _, turn in shells}

    def is_of_turn(fact: RecordedFact) -> bool:
        if fact.commit in commits:
            return (fact.commit, fact.turn) in shells
        return not turns or fact.turn in turns or fact.call_id is not None

    return [fact for fact in facts if fact.is_shell or fact.turn is None or is_of_turn(fact)]


def _name_turn(fact: RecordedFact, number: int | None) -> str:
    """Return that HEAD moved to a commit in a turn, by name if it is not that of the link, but became it later."""
    commit = fact.commit[:8] if fact.detour else "it"
    return f"recorded in {'this turn' if number is None else f'turn {number}'}, in which HEAD moved to {commit}"


def _describe_detours(facts: Sequence[RecordedFact]) -> str:
    """Return what the recorded commits have to do with the one of the link; empty if it is the recorded one alone."""
    rewritten, same = (
        list(dict.fromkeys(fact.commit[:8] for fact in facts if fact.detour == detour))
        for detour in ("rewritten", "same")
    )
    if rewritten:
        return f", rewritten from {', '.join(rewritten)}"
    verb = "has" if len(same) == 1 else "have"
    return f"; {', '.join(same)} {verb} the same author, time and subject" if same else ""
