"""Storage of the registered agents: a ref of its own, with a tree that has one file for each agent.

    agents/<number>.json    an agent
    next                    the number of the next agent

The history can be read and merged with plain git. Every change is an operation, so undo works, file by file; the
number of the next agent never goes back, so none is used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property

from scopes.agents.agent import Agent, decode_agent, encode_agent
from scopes.errors import Ambiguous, Corrupt, Invalid
from scopes.history.metadata import write_metadata
from scopes.history.names import find_nearest, match_prefix
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid, OperationId
from scopes.result import Note
from scopes.store.objects import BlobChange, find_blob, read_blob, read_commit, read_tree
from scopes.store.operations import walk_operation_commits
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository, read_operation

KIND = "agents"
"""The kind of the operations that change the registry; one that registers has the number in its details."""
_DIRECTORY, _NEXT = "agents", "next"
_NUMBER = "number"
_NOT_REGISTERED = "list them: scopes agents list; to register one: scopes agents register NAME"


class Registry:
    """The registered agents at one commit. `notes` name the files that are not agents; they are left in place."""

    def __init__(self, repository: Repository) -> None:
        """Read the registry; it may be empty.

        Raises:
            NotFound: an object is missing.
        """
        self.repository = repository
        value = repository.find_ref(AGENTS)
        self.commit = None if value is None else Oid(value)
        self._damaged: list[str] = []

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """Every agent, by number."""
        top = {} if self.commit is None else read_tree(self.repository, read_commit(self.repository, self.commit).tree)
        directory = top.get(_DIRECTORY)
        if directory is None or not directory.is_tree:
            return ()
        found: dict[int, Agent] = {}
        for name, entry in read_tree(self.repository, directory.oid).items():
            agent = None
            with suppress(Corrupt):
                agent = None if entry.is_tree else decode_agent(read_blob(self.repository, entry.oid))
            if agent is None or name != file_of(agent.number):
                self._damaged.append(name)
            else:
                found[agent.number] = agent
        return tuple(found[number] for number in sorted(found))

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note that names the files that are not agents."""
        if not self.agents and not self._damaged:
            return ()
        named = ", ".join(self._damaged[:3])
        hint = f"see: git show {AGENTS}:{_DIRECTORY}"
        return (Note(f"files of the registry that are not agents were ignored: {named}", hint),) if named else ()

    def find(self, text: str, *, whole: bool = False) -> Agent:
        """Return an agent by its name, its number, or a unique prefix of its name, unless the name has to be `whole`.

        What changes something needs the whole name: a prefix of the name of an agent that was removed may be another's.

        Raises:
            NotFound, Ambiguous: no agent or several match.
            Invalid: the text is empty: it would be a prefix of every name.
        """
        if not text.strip():
            raise Invalid("the name of an agent is empty", hint="list them: scopes agents list")
        if text.isdecimal():
            numbered = next((agent for agent in self.agents if str(agent.number) == text.lstrip("0")), None)
            if numbered is not None:
                return numbered
        same = [agent for agent in self.agents if agent.name == text]
        if len(same) > 1:  # two machines registered the name
            numbers = ", ".join(str(agent.number) for agent in same)
            raise Ambiguous(f"{text!a} is the name of {len(same)} agents", hint=f"name one by its number: {numbers}")
        by_name: dict[str, Agent] = {agent.name: agent for agent in self.agents}
        return by_name[match_prefix(text, by_name, "agent", _NOT_REGISTERED, whole=whole)]

    def find_named(self, name: str) -> Agent | None:
        """Return the first agent with exactly this name; None if there is none."""
        return next((agent for agent in self.agents if agent.name == name), None)

    def next_number(self) -> int:
        """Return the number for a new agent: higher than all that were ever given, also by undone registrations."""
        commit = None if self.commit is None else read_commit(self.repository, self.commit)
        stored = None if commit is None else find_blob(self.repository, commit.tree, _NEXT)
        text = (stored or b"").strip()
        following = int(text) if text.isdigit() and len(text) < 10 else 1
        given = [agent.number for agent in self.agents]
        for operation_commit in walk_operation_commits(self.repository):
            if operation_commit.subject.partition(":")[0] == KIND:
                number = read_operation(self.repository, operation_commit).details.get(_NUMBER)
                if isinstance(number, int):
                    given.append(number)
                    break  # numbers grow: the newest registration has the highest one
        return max(following, max(given, default=0) + 1)


def suggest_capability(agents: Iterable[Agent], word: str, prefix: str = "") -> str:
    """Return the hint about a capability that none of some agents has: the nearest ones, or some that there are.

    prefix: what is written before a capability that is suggested
    """
    known = sorted({each for agent in agents for each in agent.capabilities})
    near = [f"{prefix}{each}" for each in find_nearest(word, known)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    if known:
        return f"capabilities: {', '.join(known[:10])}"
    return "to give an agent one: scopes agents register AGENT --capability WORD"


def agent_changes(changes: Mapping[int, Agent | None]) -> dict[str, BlobChange]:
    """Return the changes of files that store agents by number; None removes one."""
    return {
        f"{_DIRECTORY}/{file_of(number)}": None if agent is None else encode_agent(agent)
        for number, agent in changes.items()
    }


def write_registry(registry: Registry, changes: Mapping[str, BlobChange], summary: str) -> Oid:
    """Write the next commit of the registry and return it; no ref is moved."""
    return write_metadata(registry.repository, registry.commit, changes, summary)


def store_registry(
    registry: Registry, changes: Mapping[str, BlobChange], summary: str, *, registered: int | None = None
) -> OperationId:
    """Store changes of files and record the operation; requires `exclusive_write`.

    `registered` is the number of a new agent.
    """
    numbered = {} if registered is None else {_NEXT: b"%d\n" % (registered + 1)}
    commit = write_registry(registry, {**changes, **numbered}, summary)
    transaction = RefTransaction(registry.repository)
    transaction.move_ref(AGENTS, registry.commit, commit)
    details = None if registered is None else {_NUMBER: registered}
    return transaction.commit(KIND, summary, details=details).id


def file_of(number: int) -> str:
    """Return the file of an agent; names sort by number."""
    return f"{number:06d}.json"
