"""What `facts run` says beside its cycles: who failed, what was left out, and why no agent ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote

from scopes.facts.context import FactContext
from scopes.facts.cycle import Cycle, FactAgent, Outcome
from scopes.ids import ConversationId
from scopes.result import Note, plural

_LISTED = 5


def note_unknown_keys(agents: Sequence[FactAgent], context: FactContext) -> tuple[Note, ...]:
    """Return a note for the keys on which agents depend and that do not exist: for these they never run."""
    unknown = sorted({key for agent in agents for key in agent.dependencies if context.known_key(key) is None})
    if not unknown:
        return ()
    hint = f"keys: {', '.join(context.known_keys())}; to add one: scopes facts propose CONV KEY TEXT --new-key"
    return (Note(f"agents depend on keys that do not exist: {', '.join(unknown[:_LISTED])}", hint),)


def note_no_command(agents: Sequence[FactAgent]) -> tuple[Note, ...]:
    """Return a note for the agents that have no command."""
    if not agents:
        return ()
    hint = "set one: --agent NAME=COMMAND; the run after that asks them about all that they have not seen"
    return (Note(f"no command, so not run: {', '.join(agent.name for agent in agents[:_LISTED])}", hint),)


def walk_run_notes(
    conversation: ConversationId, cycles: Sequence[Cycle], first_dirty: Iterable[str], context: FactContext
) -> Iterator[Note]:
    """Yield what is to be said about the cycles of a run; `first_dirty` are the dirty keys at its beginning."""
    failed = sorted({each.name for cycle in cycles for each in cycle.ran if each.problem is not None})
    if failed:
        text = f"{len(failed)} {plural(len(failed), 'agent')} failed: {', '.join(failed[:_LISTED])}"
        yield Note(text, f"see: scopes facts log {quote(conversation)}; in the next run they are tried again")
    dropped = _count(cycles, {"conflict", "invalid"})
    if dropped:
        text = f"{dropped} proposed {plural(dropped, 'fact')} in conflict with a fact or not valid: left out"
        yield Note(text, f"see: scopes facts log {quote(conversation)} --explain-order")
    over = _count(cycles, {"over limit"})
    if over:
        yield Note(f"{over} proposed {plural(over, 'fact')} over the limit of facts: left out")
    if not any(cycle.ran for cycle in cycles):
        yield from _why_nobody_ran(conversation, cycles, first_dirty, context)


def _why_nobody_ran(
    conversation: ConversationId, cycles: Sequence[Cycle], first_dirty: Iterable[str], context: FactContext
) -> Iterator[Note]:
    dirty = sorted(first_dirty)
    if cycles:
        hint = (
            f"see who depends on what: scopes agents list; to let another run: scopes facts run {quote(conversation)}"
        )
        yield Note(f"no agent ran: none with a command depends on {', '.join(dirty)}", hint)
    elif not context.keys_with_facts():
        hint = f'propose one: scopes facts propose {quote(conversation)} Seeds "TEXT"; facts accept makes a fact of it'
        yield Note(f"no agent ran: {conversation} has no facts yet", hint)
    elif not dirty:
        yield Note("no agent ran: there are no new facts since the last run")


def _count(cycles: Iterable[Cycle], outcomes: set[Outcome]) -> int:
    return sum(each.outcome in outcomes for cycle in cycles for each in cycle.applied)
