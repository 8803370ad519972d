"""`facts run`: let agents run cycle by cycle until no key is dirty (S2-2 to S2-8, S2-18, S2-19).

Agents run without a lock. Each cycle is one operation: what it added stays, whatever comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Literal, Protocol, TypeAlias

from scopes.agents.registry import Registry
from scopes.clock import format_time, now_nanoseconds
from scopes.errors import BudgetExhausted, Invalid, NotFound, ScopesError
from scopes.facts.context import FactContext
from scopes.facts.cycle import (
    CYCLE_COLUMNS,
    Acceptance,
    Cycle,
    DependencyIndex,
    Effects,
    FactAgent,
    find_reasons,
    find_unseen,
    merge_cycle,
    reasons_of,
    update_unseen,
)
from scopes.facts.programs import DEFAULT_SECONDS, Program, ProgramRunner
from scopes.facts.run_lock import claim_run
from scopes.facts.run_notes import note_no_command, note_unknown_keys, walk_run_notes
from scopes.facts.store import FactChanges, FactStore
from scopes.facts.validation import check_expiry, is_expired
from scopes.history.handles import read_uuid
from scopes.history.names import list_branch_tips, names_by_uuid, resolve_conversation
from scopes.ids import ConversationId, OperationId
from scopes.result import Note, Result, counted, plural, shown
from scopes.secrets.gates import gate_of
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, require_unpurged

Ending: TypeAlias = Literal["converged", "failed", "waiting", "cycles", "facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """When a run stops, and which proposals become facts in it.

    Attributes:
        cycles: At most this number of cycles (S2-18).
        all_keys: Every key with facts counts as new, as before the first run.
        seconds: What an agent may take in a cycle if no setting says so.
        expires_seconds: After how many seconds a proposal of the run can no longer be promoted (S2-20); None for never.
    """

    cycles: int = 100
    all_keys: bool = False
    seconds: int | None = None
    expires_seconds: int | None = None
    acceptance: Acceptance = field(default_factory=Acceptance)


_ENDINGS = {
    "waiting": "waiting for a person",
    "cycles": "stopped at the limit of cycles",
    "facts": "stopped at the limit of facts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRun(Result):
    """What a run did: its cycles, and why it ended.

    Attributes:
        ending: `converged` if no key is dirty; `waiting` if none is and a person has to decide; `failed` if every agent
            that ran failed; `cycles` or `facts` if a limit was reached, with what was added until then.
        added: The number of new facts.
        waiting: The number of open questions and pending proposals of the conversation.
        operations: One for each cycle; `undo` takes them back in one step.
    """

    rows_in = "cycles"
    columns = CYCLE_COLUMNS

    conversation: ConversationId
    ending: Ending
    cycles: tuple[Cycle, ...]
    version: int
    added: int
    waiting: int
    operations: tuple[OperationId, ...]

    @property
    def sentence(self) -> str:
        """Why the run ended, and what came out."""
        counts = f"{counted(len(self.cycles), 'cycle')}, {counted(self.added, 'new fact')}, version {self.version}"
        return f"{_ENDINGS.get(self.ending, self.ending)}: {counts}"

    @property
    def remark(self) -> list[str]:
        """The same, and what waits."""
        return [self.sentence, self._waiting]

    @property
    def next_step(self) -> list[str]:
        """How to see what waits, and how to take the cycles back."""
        return [self._waiting, "undo with: scopes undo" if self.operations else ""]

    @property
    def _waiting(self) -> str:
        if not self.waiting:
            return ""
        verb = "waits" if self.waiting == 1 else "wait"
        return f"{counted(self.waiting, 'decision')} {verb}: scopes facts list {quote(self.conversation)} --proposed"

    @property
    def exit_code(self) -> int:
        """The code of a used-up budget if a limit was reached; one if an agent failed."""
        if self.ending in {"cycles", "facts"}:
            return BudgetExhausted.exit_code
        return ScopesError.exit_code if self.failed else 0

    @property
    @shown
    def failed(self) -> tuple[str, ...]:
        """The agents that failed when they ran last in this run, by number; the next run tries them again."""
        last = {each.agent: each for cycle in self.cycles for each in cycle.ran}
        return tuple(last[number].name for number in sorted(last) if last[number].problem is not None)


class Asks(Protocol):
    """Asks agents for their effects in one cycle, given the context as it was before it."""

    def __call__(self, agents: Sequence[FactAgent], context: FactContext, /) -> Mapping[int, Effects]:
        """Return the effects by the number of the agent; one without effects may be missing."""


def run_programs(
    repository: Repository,
    conversation: str,
    commands: Mapping[str, str],
    limits: RunLimits,
    *,
    on_cycle: Callable[[Cycle], None] = lambda _: None,
) -> FactRun:
    """Run the programs of the registered agents until no key is dirty, or a limit is reached.

    commands: commands by the name of an agent, before those of the settings scopes.agent.<name>.command
    on_cycle: called after each cycle

    Raises:
        NotFound, Ambiguous: there is no such conversation or agent of `commands`, or several match.
        Invalid: no agent has a command and a dependency, or proposals would expire at once.
        Busy: another process runs the agents of the conversation now.
    """
    check_expiry(limits.expires_seconds)
    conversation_id = resolve_conversation(repository, conversation)
    agents, away, notes = list_agents(repository)
    programs = find_programs(repository, agents, commands, limits.seconds)
    without = [agent for agent in agents if agent.number not in programs]
    agents = [agent for agent in agents if agent.number in programs]
    if not agents:
        hint = 'scopes agents register NAME --depends-on KEY, then --agent NAME="COMMAND"'
        raise Invalid("no registered agent depends on a key and has a command", hint=hint)
    runner = ProgramRunner(conversation_id, programs, gate_of(repository, "redact"))
    others = [*without, *away]
    with claim_run(repository, conversation_id):
        run = Runner(repository, conversation_id, agents, runner.ask, limits, others=others, on_rename=runner.use_name)
        notes = (*notes, *note_no_command(without), *note_unknown_keys(agents, run.context))
        for cycle in run.walk_cycles():
            on_cycle(cycle)
        return run.result(notes)


def list_agents(repository: Repository) -> tuple[list[FactAgent], list[FactAgent], tuple[Note, ...]]:
    """Return the agents that depend on a key, by number: those available, those away; and notes about the registry."""
    registry = Registry(repository)
    found: dict[bool, list[FactAgent]] = {True: [], False: []}
    for agent in registry.agents:
        if agent.dependencies:
            found[agent.available].append(FactAgent(agent.number, agent.name, agent.dependencies))
    return found[True], found[False], registry.notes


def find_programs(
    repository: Repository, agents: Sequence[FactAgent], commands: Mapping[str, str], seconds: int | None
) -> dict[int, Program]:
    """Return the programs of agents by number: a given command, or that of the user's settings.

    Raises:
        NotFound, Ambiguous: a command is given for an agent that does not exist, or for several.
        Invalid: a command is given for an agent that depends on no key or is away.
    """
    registry = Registry(repository)
    known = {agent.number for agent in agents}
    given = {}
    for name, given_command in commands.items():
        number = registry.find(name, whole=True).number
        if number not in known:
            register = f"scopes agents register {quote(name)}"
            hint = f"{register} --depends-on KEY, or {register} --available"
            raise Invalid(f"{name} depends on no key or is away, so it never runs", hint=hint)
        given[number] = given_command
    programs = {}
    for agent in agents:
        command = given.get(agent.number) or repository.config.find(f"scopes.agent.{agent.name}.command")
        if command and command.strip():
            setting = repository.config.find_integer(f"scopes.agent.{agent.name}.timeout", DEFAULT_SECONDS)
            programs[agent.number] = Program(command, seconds or setting)
    return programs


class Runner:
    """Runs cycles for one conversation, and stores each."""

    def __init__(
        self,
        repository: Repository,
        conversation: ConversationId,
        agents: Sequence[FactAgent],
        ask: Asks,
        limits: RunLimits,
        *,
        others: Sequence[FactAgent] = (),
        on_rename: Callable[[ConversationId], None] = lambda _: None,
    ) -> None:
        """Begin a run of agents; `others` also depend on keys, but cannot run now.

        `on_rename` is called with the new id of the conversation.
        """
        self._repository = repository
        self._conversation = conversation
        self._index = DependencyIndex.of(agents)
        self._others = DependencyIndex.of(others)
        self._ask = ask
        self._on_rename = on_rename
        self._limits = limits
        self._store = FactStore(repository, conversation)
        self.context = self._store.read_context()
        if limits.all_keys:
            self.context.dirty = self.context.keys_with_facts()
        self.context.retried = find_unseen(agents, self.context)
        self._first_dirty = self.context.dirty
        self._cycles: list[Cycle] = []
        self._operations: list[OperationId] = []

    def walk_cycles(self) -> Iterator[Cycle]:
        """Run and store cycles until nothing is dirty or a limit is reached, and yield each."""
        with self._repository.one_step():
            while not self._is_over():
                self._cycles.append(self._run_cycle())
                yield self._cycles[-1]

    def result(self, notes: tuple[Note, ...] = ()) -> FactRun:
        """Return what was done until now."""
        proposals = FactStore(self._repository, self._conversation).walk_proposals()
        pending = sum(each.state == "pending" and not is_expired(each) for each in proposals)
        waiting = len(self.context.questions) + pending
        more = walk_run_notes(self._conversation, self._cycles, self._first_dirty, self.context)
        return FactRun(
            conversation=self._conversation,
            ending=self._ending(waiting),
            cycles=tuple(self._cycles),
            version=self.context.version,
            added=sum(each.outcome == "added" for cycle in self._cycles for each in cycle.applied),
            waiting=waiting,
            operations=tuple(self._operations),
            notes=(*notes, *more),
        )

    def _is_over(self) -> bool:
        is_full = bool(self._cycles) and self._cycles[-1].is_full
        return not self._has_work or is_full or len(self._cycles) >= self._limits.cycles

    @property
    def _has_work(self) -> bool:
        return not self.context.has_converged or bool(self.context.retried)

    def _ending(self, waiting: int) -> Ending:
        if self._cycles and self._cycles[-1].is_full:
            return "facts"
        if self._has_work:
            return "cycles"
        ran = [each for cycle in self._cycles for each in cycle.ran]
        if ran and all(each.problem is not None for each in ran):
            return "failed"
        return "waiting" if waiting else "converged"

    def _run_cycle(self) -> Cycle:
        """Run the eligible agents and store what comes of it; who has not seen a key yet runs in the first cycle.

        Raises:
            NotFound: the conversation was deleted meanwhile; nothing of this cycle is stored.
            Busy: something of it was purged meanwhile; nothing of this cycle is stored.
        """
        tips = [*list_branch_tips(self._repository, self._conversation).values()]
        context = self.context
        agents = self._index.eligible(context.dirty, context.retried)
        asked = {agent.number: reasons_of(agent, context) for agent in agents}
        others = self._others.eligible(context.dirty)
        missed = {agent.number: find_reasons(agent, context.dirty) for agent in others}
        effects = self._ask(agents, context)
        with exclusive_write(self._repository):
            self._follow()
            require_unpurged(self._repository, self._conversation, tips)
            changed_meanwhile = self._reload()
            cycle = merge_cycle(self.context, agents, effects, self._limits.acceptance, asked)
            update_unseen(self.context, cycle, asked, missed)
            self.context.retried = {}
            self.context.dirty |= changed_meanwhile
            self._store_cycle(cycle)
        return cycle

    def _follow(self) -> None:
        """Find the conversation again: it may have been renamed while agents ran, and its id may be another one's."""
        with suppress(NotFound):
            if read_uuid(self._repository, self._conversation) == self._store.uuid:
                return
        name = names_by_uuid(self._repository).get(self._store.uuid)
        if name is None:
            text = f"{self._conversation} was deleted while its agents ran; nothing of this cycle is stored"
            raise NotFound(text, hint="restore it: scopes undo")
        self._conversation = name
        self._store = FactStore(self._repository, name, self._store.commits)
        self._on_rename(name)

    def _store_cycle(self, cycle: Cycle) -> None:
        added = sum(each.outcome == "added" for each in cycle.applied)
        summary = f"cycle {cycle.number} of {self._conversation}: {added} {plural(added, 'fact')}"
        changes = FactChanges(self._store, summary)
        changes.add(self._store.cycle_change(cycle) | self._store.context_change(self.context))
        for each in cycle.applied:
            fact = self.context.find(each.key, each.id) if each.outcome == "added" else None
            if fact is not None:
                changes.add(self._store.fact_change(fact))
                if self._store.find_proposal(fact.key, fact.id) is not None:
                    changes.propose(self._store.proposal_change(fact.key, fact.id, None))
        for proposal in cycle.proposals:
            kept = replace(proposal, expires=self._expiry())
            changes.propose(self._store.proposal_change(kept.key, kept.id, kept))
        self._operations.append(changes.commit("facts-run"))
        self._store = FactStore(self._repository, self._conversation)

    def _expiry(self) -> str | None:
        seconds = self._limits.expires_seconds
        return None if seconds is None else format_time(now_nanoseconds() + seconds * 10**9)

    def _reload(self) -> frozenset[str]:
        """Read what another command has changed while agents ran; return the keys that are dirty because of it.

        These are the keys of new facts and decisions, not what is dirty for another run: two runs at once would else
        keep each other from an end.
        """
        if self._store.is_current:
            return frozenset()
        before, self._store = self._store, FactStore(self._repository, self._conversation)
        if self._store.has_facts_of(before) and self._store.read_more_keys() == self.context.more_keys:
            self.context.stored = self._store  # others changed proposals alone, or another conversation
            return frozenset()
        questions = self.context.questions
        self.context = self._store.read_context()
        changed = set(self._store.changed_keys(before))
        for subject in self._store.changed_decisions(before):
            if "/" in subject:
                changed.add(subject.partition("/")[0])
            else:  # the key of a question that was asked and answered meanwhile is not known any more
                changed |= {questions[subject].key} if subject in questions else self.context.dirty
        return frozenset(changed)
