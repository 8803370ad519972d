"""Random commands in two conversations with undo and redo between them end in the state that a model says.

The model is a dict. A command is represented by the keys that it changes, with the value before and after. Undo gives
the keys their values from before; it is refused if one of them has been changed since, or if a message would be left
that nobody gets.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.agents.inbox import read_inbox, walk_entries
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import ScopesError
from scopes.facts.decide import accept
from scopes.facts.list import list_facts, list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.facts.store import FactStore
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from tests.support.examples import amount
from tests.support.random_ids import hashed_counter
from tests.support.store import git, make_store

CONVERSATIONS, AGENTS, FACTS = ("conv-001", "conv-002"), ("ann", "bob"), ("f", "g")
conversations, agents, facts = map(st.sampled_from, (CONVERSATIONS, AGENTS, FACTS))
steps = st.one_of(
    st.tuples(st.just("propose"), conversations, facts),
    st.tuples(st.just("accept"), conversations, facts),
    st.tuples(st.just("register"), agents),
    st.tuples(st.sampled_from(["available", "away"]), agents),
    st.tuples(st.just("send"), conversations, st.lists(agents, min_size=1, max_size=2, unique=True).map(tuple)),
    st.tuples(st.just("acknowledge"), agents),
    st.tuples(st.sampled_from(["undo", "redo"]), st.none()),
    st.tuples(st.just("undo-one"), st.integers(0, 30)),
)


@dataclass
class Command:
    """A command or an undo of one, with the keys that it changed: value before and after."""

    id: str
    changes: dict
    undoes: str | None = None
    is_redo: bool = False

    @property
    def conversations(self):
        """The conversations that it belongs to; what changes agents belongs to none but that of a branch."""
        inside = {key[1] for key in self.changes if key[0] not in {"agent", "inbox"}}
        if inside or any(key[0] == "agent" for key in self.changes):
            return inside
        return {(after or before)[0] for before, after in self.changes.values()}


@dataclass
class Model:
    """What the store should contain, and the commands that were given."""

    state: dict = field(default_factory=dict)
    log: list = field(default_factory=list)
    numbers: itertools.count = field(default_factory=lambda: itertools.count(1))
    sequence: itertools.count = field(default_factory=lambda: itertools.count(1))
    stamps: itertools.count = field(default_factory=itertools.count)

    def find_agent(self, name):
        return next(((key, value) for key, value in self.state.items() if key[0] == "agent" and value[0] == name), None)

    def inbox(self, number):
        return {key: value for key, value in self.state.items() if key[0] == "inbox" and key[1] == number}

    def foresee(self, step):
        """Return the changes of a command, or None if it is refused."""
        match step:
            case ("propose", conversation, name):
                key = ("proposed", conversation, name)
                is_there = key in self.state or ("fact", conversation, name) in self.state
                return {} if is_there else {key: next(self.stamps)}
            case ("accept", conversation, name) if ("proposed", conversation, name) in self.state:
                decided = {("proposed", conversation, name): None, ("decision", conversation, name): next(self.stamps)}
                if ("fact", conversation, name) in self.state:
                    return decided
                version = self.state.get(("version", conversation), 0) + 1
                return {**decided, ("fact", conversation, name): next(self.stamps), ("version", conversation): version}
            case ("register", name) if self.find_agent(name) is None:
                return {("agent", next(self.numbers)): (name, next(self.stamps), True)}
            case ("available" | "away" as word, name) if self.find_agent(name) is not None:
                key, (_, stamp, _) = self.find_agent(name)
                waiting = {k: (*v[:2], False) for k, v in self.inbox(key[1]).items() if v[2] and word == "available"}
                return {key: (name, stamp, word == "available"), **waiting}
            case ("send", conversation, names) if all(map(self.find_agent, names)):
                number, text = next(self.sequence), f"text {next(self.stamps)}"
                found = [self.find_agent(name) for name in names]
                entries = {("inbox", key[1], number): (conversation, text, not value[2]) for key, value in found}
                branch = (*self.state.get(("branch", conversation), ()), text)
                return {("branch", conversation): branch, **entries}
            case ("acknowledge", name) if self.find_agent(name) is not None:
                return {k: None for k, v in self.inbox(self.find_agent(name)[0][1]).items() if not v[2]}
        return None

    def apply(self, changes):
        """Change the state and return what was changed."""
        done = {k: (self.state.get(k), v) for k, v in changes.items() if self.state.get(k) != v}
        self.state = {k: v for k, v in {**self.state, **changes}.items() if v is not None}
        return done

    def canceled(self):
        found = set()
        for each in reversed(self.log):
            if each.undoes is not None and each.id not in found:
                found.add(each.undoes)
        return found

    def find_undo(self, conversation):
        canceled = self.canceled()
        for each in reversed(self.log):
            if each.undoes is None and each.id not in canceled and (not conversation or self.is_of(each, conversation)):
                return each
        return None

    def find_redo(self, conversation):
        canceled = set()
        for each in reversed(self.log):
            if each.undoes is not None and each.id not in canceled:
                canceled.add(each.undoes)
            if conversation and not self.is_of(each, conversation):
                continue
            if each.undoes is not None and not each.is_redo and each.id not in canceled:
                return each
            if each.undoes is None:
                return None
        return None

    def is_of(self, command, conversation):
        return conversation in command.conversations

    def reverse(self, command, conversation):
        """Return the changes that take a command back; None if they are refused."""
        if conversation and command.conversations - {conversation}:
            return None
        if any(self.state.get(key) != after for key, (_, after) in command.changes.items()):
            return None
        result = {key: before for key, (before, _) in command.changes.items()}
        state = {k: v for k, v in {**self.state, **result}.items() if v is not None}
        return result if self.is_sound(state, {key for key in result if key[0] == "agent"}) else None

    @staticmethod
    def is_sound(state, changed):
        names = [value[0] for key, value in state.items() if key[0] == "agent"]
        for key in changed:
            entries = [value for other, value in state.items() if other[:2] == ("inbox", key[1])]
            if key not in state and entries:
                return False
            if key in state and state[key][2] and any(queued for _, _, queued in entries):
                return False
        return len(names) == len(set(names))


def run(repository, step):
    """Give a command; return its operation, None if it changed nothing."""
    match step:
        case ("propose", conversation, name):
            given = Proposal(key="Seeds", content=f"{name} holds", agent="ann", id=name)
            return propose(repository, conversation, given).operation
        case ("accept", conversation, name):
            return accept(repository, conversation, name, actor="carol").operation
        case ("register", name):
            return register(repository, name).operation
        case ("available" | "away" as word, name):
            return update(repository, name, AgentChanges(available=word == "available")).operation
        case ("send", conversation, names, text):
            message = plain_message("carol", text)
            return send(StoreHandle(repository).branch(conversation), message, names, queue=True).operation
        case ("acknowledge", name):
            return read_inbox(repository, name, acknowledge=True).operation
        case ("undo", conversation):
            return undo(repository, conversation=conversation).operation
        case ("redo", conversation):
            return redo(repository, conversation=conversation).operation
        case ("undo-one", operation):
            return undo(repository, operation).operation
    raise AssertionError(step)


def observe(repository):
    """Return the state of a store in the form of the model, without the stamps."""
    registry = Registry(repository)
    state = {("agent", each.number): (each.name, each.available) for each in registry.agents}
    for number in range(1, 40):
        for entry in walk_entries(registry, number):
            state["inbox", number, entry.sequence] = (entry.conversation, entry.queued)
    for conversation in CONVERSATIONS:
        state |= {("fact", conversation, row.fact.id): True for row in list_facts(repository, conversation).facts}
        proposed = list_proposed(repository, conversation).proposals
        state |= {("proposed", conversation, row.proposal.id): True for row in proposed}
        store = FactStore(repository, StoreHandle(repository).conversation(conversation).id)
        version, decisions = store.read_context().version, store.walk_decisions()
        state |= {("decision", conversation, each.subject.removeprefix("Seeds/")): True for each in decisions}
        texts = tuple(head.subject for head in StoreHandle(repository).branch(conversation).headers() if head.subject)
        state |= {("version", conversation): version} if version else {}
        state |= {("branch", conversation): tuple(reversed(texts))} if texts else {}
    return state


def shown(state):
    """Return the state of the model as `observe` does."""
    forms = {
        "agent": lambda value: (value[0], value[2]), "inbox": lambda value: (value[0], value[2]),
        "fact": lambda _: True, "proposed": lambda _: True, "decision": lambda _: True,
    }  # fmt: skip
    return {key: forms.get(key[0], lambda value: value)(value) for key, value in state.items() if value != ()}


def plan(model, step):
    """Return the changes that the model expects, and the command that they take back; None for a refusal."""
    match step:
        case ("undo", conversation):
            target = model.find_undo(conversation)
        case ("redo", conversation):
            target = model.find_redo(conversation)
        case ("undo-one", position):
            wanted = [each for each in model.log if each.undoes is None]
            target = wanted[position % len(wanted)] if wanted else None
            conversation = None
            if target is not None and target.id in model.canceled():
                return None, target
        case _:
            return model.foresee(step), None
    return (None if target is None else model.reverse(target, conversation)), target


@settings(max_examples=amount(400, 8))
@given(st.lists(steps, min_size=10, max_size=40))
def test_any_interleaving_with_undo_and_redo_ends_in_the_state_of_the_model(sequence):
    clock.random_bytes = hashed_counter()
    with tempfile.TemporaryDirectory() as directory:
        repository, model = make_store(f"{directory}/store.git"), Model()
        for _ in CONVERSATIONS:
            new(repository)
        model.log = [
            Command(f"new {number}", {("branch", name): (None, ())}) for number, name in enumerate(CONVERSATIONS)
        ]
        for step in sequence:
            take(repository, model, step)
            assert observe(repository) == shown(model.state), step
        assert verify(repository).findings == ()
        assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def take(repository, model, step):
    """Give a command to the store and to the model."""
    changes, target = plan(model, step)
    if target is not None and target.id.startswith("new"):
        return  # the conversations themselves stay
    call = (*step, changes[("branch", step[1])][-1]) if step[0] == "send" and changes else step
    if step[0] == "undo-one":
        call = ("undo-one", target.id) if target is not None else None
    elif step[0] == "send" and not changes:
        call = (*step, "text")
    if call is None:
        return
    if changes is None:
        with pytest.raises(ScopesError):
            run(repository, call)
        return
    operation = run(repository, call)
    done = model.apply(changes)
    assert (operation is None) == (not done), step
    if done:
        undoes = None if target is None else target.id
        model.log.append(Command(operation, done, undoes, step[0] == "redo"))
