"""Storage of facts and proposals: two refs, so that a proposal is never where a fact is (S2-9).

    refs/scopes/facts            <uuid>/facts/<key>/<2 hex>/<id>=    a fact
                                 <uuid>/cycles/<number>.json         a cycle of a run
                                 <uuid>/decisions/<subject>=         a decision of a person
                                 <uuid>/context.json                 version, dirty keys, open questions, and the
                                                                     keys that single agents have not seen yet
                                 keys/<name>=                        a key beside those that always exist
    refs/scopes/proposed-facts   <uuid>/<key>/<2 hex>/<id>=          a proposal

The uuid is that of the conversation, which keeps it when it is renamed; a later one of the same id has another. The
history can be read with plain git. Every change is an operation, so undo works, file by file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from typing import TypeVar

from scopes.errors import Corrupt, Invalid
from scopes.facts.context import FactContext
from scopes.facts.cycle import Cycle
from scopes.facts.cycle_record import decode_cycle, encode_cycle
from scopes.facts.fact import (
    Fact,
    HumanDecision,
    ProposedFact,
    Question,
    decode_decision,
    decode_fact,
    decode_proposed,
    encode_decision,
    encode_fact,
    encode_proposed,
)
from scopes.history.handles import read_uuid
from scopes.history.metadata import write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.model import canonical_json
from scopes.model.canonical_json import MAX_KEY_BYTES, decode_component, encode_component, leaf
from scopes.store.objects import BlobChange, TreeEntry, read_blob, read_commit, read_tree, walk_blobs
from scopes.store.packs import bulk_objects
from scopes.store.refs import FACTS, PROPOSED_FACTS
from scopes.store.repository import Repository

Item = TypeVar("Item")

_IN_ONE_PACK = 50  # files; from here on one pack is written and synced faster than a file for each
_REFS = (FACTS, PROPOSED_FACTS)
_CONTEXT_FIELDS = frozenset({"v", "version", "cycles", "count", "dirty", "questions", "unseen"})
_FACTS, _CYCLES, _DECISIONS, _CONTEXT, _KEYS = "facts", "cycles", "decisions", "context.json", "keys"


class FactStore:
    """The facts and proposals of one conversation."""

    def __init__(
        self, repository: Repository, conversation: ConversationId, commits: Mapping[str, Oid | None] | None = None
    ) -> None:
        """Read the refs, or what they were at other commits.

        Raises:
            NotFound: an object is missing.
        """
        self.repository = repository
        self.conversation = conversation
        self.uuid = read_uuid(repository, conversation) if conversation else ""
        """It stays the same when the conversation is renamed. In the store of another person it may be any text."""
        self._uuid = encode_component(self.uuid) if conversation else ""
        self.commits = {ref: _commit_of(repository, ref) for ref in _REFS} if commits is None else dict(commits)
        self._trees = {
            ref: None if commit is None else read_commit(repository, commit).tree
            for ref, commit in self.commits.items()
        }
        self.unreadable: dict[tuple[str, str], Corrupt] = {}
        """What was found and cannot be read: the error by ref and path."""
        self._directories: dict[tuple[str, str], Mapping[str, TreeEntry]] = {}

    @property
    def is_current(self) -> bool:
        """True unless another command has changed facts or proposals of the store."""
        return all(_commit_of(self.repository, ref) == commit for ref, commit in self.commits.items())

    def has_facts_of(self, earlier: FactStore) -> bool:
        """Return True if the facts of the conversation are those of an earlier look, with cycles and decisions."""
        return self._entries(FACTS, "").get(self._uuid) == earlier._entries(FACTS, "").get(self._uuid)

    def changed_keys(self, earlier: FactStore) -> frozenset[str]:
        """Return the keys that have other facts than at an earlier look."""
        return self._changed_names(earlier, _FACTS)

    def changed_decisions(self, earlier: FactStore) -> frozenset[str]:
        """Return the subjects about which a person has decided since an earlier look, or decided again."""
        return self._changed_names(earlier, _DECISIONS)

    def read_context(self) -> FactContext:
        """Return the context; its facts are read when they are needed."""
        document = self._read_context_file()
        questions = document.get("questions")
        found = [_decode_question(each) for each in questions] if isinstance(questions, list) else []
        dirty = document.get("dirty")
        context = FactContext(
            stored=self,
            count=_number(document.get("count")),
            more_keys=self.read_more_keys(),
            version=_number(document.get("version")),
            cycles=_number(document.get("cycles")),
            questions={each.id: each for each in found if each is not None},
            decided=frozenset(self._names(f"{self._uuid}/{_DECISIONS}")),
        )
        context.unseen = _decode_unseen(document.get("unseen"))
        context.more_fields = {str(name): value for name, value in document.items() if name not in _CONTEXT_FIELDS}
        has_run = isinstance(dirty, list) and context.cycles > 0
        context.dirty = frozenset(map(str, dirty)) if has_run and isinstance(dirty, list) else self.keys()
        return context

    def read_more_keys(self) -> frozenset[str]:
        """Return the keys of all conversations beside those that always exist."""
        return frozenset(self._names(_KEYS))

    def holds(self, key: str, fact_id: str) -> bool:
        """Return True if something is stored where a fact is, whether it can be read or not."""
        return self._holds(FACTS, _FACTS, key, fact_id)

    def holds_proposal(self, key: str, fact_id: str) -> bool:
        """Return True if something is stored where a proposal is, whether it can be read or not."""
        return self._holds(PROPOSED_FACTS, "", key, fact_id)

    def find(self, key: str, fact_id: str) -> Fact | None:
        """Return a fact; None if there is none, or it is damaged."""
        with suppress(Corrupt, Invalid):  # Invalid: the id is too long for a path
            path = self._path(_FACTS, key, fact_id)
            data = self._find_blob(FACTS, path)
            return None if data is None else decode_fact_at(path, data)
        return None

    def walk(self, key: str) -> Iterator[Fact]:
        """Yield the facts of a key, by id; damaged ones are left out."""
        facts = self._walk_decoded(FACTS, f"{self._uuid}/{_FACTS}/{encode_component(key)}", decode_fact_at)
        yield from sorted(facts, key=lambda fact: fact.id)

    def keys(self) -> frozenset[str]:
        """Return the keys that have facts."""
        return frozenset(self._names(f"{self._uuid}/{_FACTS}"))

    def find_proposal(self, key: str, fact_id: str) -> ProposedFact | None:
        """Return a proposal; None if there is none, or it is damaged."""
        with suppress(Corrupt, Invalid):
            path = self._path("", key, fact_id)
            data = self._find_blob(PROPOSED_FACTS, path)
            return None if data is None else decode_proposed_at(path, data)
        return None

    def walk_proposals(self) -> Iterator[ProposedFact]:
        """Yield the proposals, by key and id; damaged ones are left out."""
        found = self._walk_decoded(PROPOSED_FACTS, self._uuid, decode_proposed_at)
        yield from sorted(found, key=lambda fact: (fact.key, fact.id))

    def walk_decisions(self) -> Iterator[HumanDecision]:
        """Yield the decisions of people, the newest one of each subject, in the order of time."""
        found = self._walk_decoded(FACTS, f"{self._uuid}/{_DECISIONS}", lambda _, data: decode_decision(data))
        yield from sorted(found, key=lambda each: (each.timestamp, each.subject))

    def find_decision(self, subject: str) -> HumanDecision | None:
        """Return the newest decision about a subject; None if there is none, or it is damaged."""
        data = self._find_blob(FACTS, f"{self._uuid}/{_DECISIONS}/{leaf(subject)}")
        with suppress(Corrupt):
            return None if data is None else decode_decision(data)
        return None

    def walk_cycles(self) -> Iterator[Cycle]:
        """Yield the cycles, the newest one first; damaged ones are left out."""
        entries = self._entries(FACTS, f"{self._uuid}/{_CYCLES}")
        for name in sorted(entries, reverse=True):
            try:
                yield decode_cycle(read_blob(self.repository, entries[name].oid))
            except Corrupt as error:
                self.unreadable[FACTS, f"{self._uuid}/{_CYCLES}/{name}"] = error

    def fact_change(self, fact: Fact) -> dict[str, BlobChange]:
        """Return the change of refs/scopes/facts that adds a fact."""
        return {self._path(_FACTS, fact.key, fact.id): encode_fact(fact)}

    def proposal_change(self, key: str, fact_id: str, proposal: ProposedFact | None) -> dict[str, BlobChange]:
        """Return the change of refs/scopes/proposed-facts that stores a proposal; None removes it."""
        return {self._path("", key, fact_id): None if proposal is None else encode_proposed(proposal)}

    def decision_change(self, decision: HumanDecision) -> dict[str, BlobChange]:
        """Return the change of refs/scopes/facts that stores a decision."""
        return {f"{self._uuid}/{_DECISIONS}/{leaf(decision.subject)}": encode_decision(decision)}

    def cycle_change(self, cycle: Cycle) -> dict[str, BlobChange]:
        """Return the change of refs/scopes/facts that stores a cycle."""
        return {f"{self._uuid}/{_CYCLES}/{cycle.number:06d}.json": encode_cycle(cycle)}

    def context_change(self, context: FactContext) -> dict[str, BlobChange]:
        """Return the change of refs/scopes/facts that stores the state of a context, without its facts."""
        document = {
            **context.more_fields,
            "v": 1,
            "version": context.version,
            "cycles": context.cycles,
            "count": context.count,
            "dirty": sorted(context.dirty),
            "questions": [
                {"id": each.id, "key": each.key, "text": each.text, "agent": each.agent}
                for each in context.questions.values()
            ],
        }
        if context.unseen:
            document["unseen"] = {str(number): sorted(keys) for number, keys in sorted(context.unseen.items())}
        data = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        return {f"{self._uuid}/{_CONTEXT}": data.encode("utf-8", "backslashreplace")}

    def _read_context_file(self) -> Mapping[str, object]:
        data = self._find_blob(FACTS, f"{self._uuid}/{_CONTEXT}")
        try:
            return {} if data is None else decode_context(data)
        except Corrupt as error:
            raise Corrupt(f"the facts of {self.conversation} are damaged", hint="see: scopes verify") from error

    def _names(self, path: str) -> Iterator[str]:
        """Yield the decoded names of a directory of refs/scopes/facts."""
        return _decode_names(self._entries(FACTS, path))

    def _changed_names(self, earlier: FactStore, directory: str) -> frozenset[str]:
        """Return the decoded names of a directory of the conversation that had another content earlier, or none."""
        path = f"{self._uuid}/{directory}"
        now, before = self._entries(FACTS, path), earlier._entries(FACTS, path)
        return frozenset(_decode_names(name for name in {*now, *before} if now.get(name) != before.get(name)))

    def _find_blob(self, ref: str, path: str) -> bytes | None:
        directory, _, name = path.rpartition("/")
        entry = self._entries(ref, directory).get(name)
        return None if entry is None or entry.is_tree else read_blob(self.repository, entry.oid)

    def _find_tree(self, ref: str, path: str) -> Oid | None:
        directory, _, name = path.rpartition("/")
        entry = self._entries(ref, directory).get(name)
        return entry.oid if entry is not None and entry.is_tree else None

    def _entries(self, ref: str, path: str) -> Mapping[str, TreeEntry]:
        """Return the entries of a directory, empty if there is none; each is read once."""
        if (ref, path) not in self._directories:
            tree = self._find_tree(ref, path) if path else self._trees.get(ref)
            self._directories[ref, path] = {} if tree is None else read_tree(self.repository, tree)
        return self._directories[ref, path]

    def _holds(self, ref: str, directory: str, key: str, fact_id: str) -> bool:
        with suppress(Invalid):
            parent, _, name = self._path(directory, key, fact_id).rpartition("/")
            return name in self._entries(ref, parent)
        return False

    def _walk_decoded(self, ref: str, path: str, decode: Callable[[str, bytes], Item]) -> list[Item]:
        """Return the files below a directory, decoded; those that cannot be are in `unreadable` then."""
        directory, found = self._find_tree(ref, path), []
        for name, oid in walk_blobs(self.repository, directory, f"{path}/") if directory is not None else ():
            try:
                found.append(decode(name, read_blob(self.repository, oid)))
            except Corrupt as error:
                self.unreadable[ref, name] = error
        return found

    def _path(self, directory: str, key: str, fact_id: str) -> str:
        return "/".join(filter(None, (self._uuid, directory, _path_in_key(key, fact_id))))


class FactChanges:
    """Changes of the two refs for one operation; requires `exclusive_write`."""

    def __init__(self, store: FactStore, summary: str) -> None:
        self._store = store
        self._summary = summary
        self._changes: dict[str, dict[str, BlobChange]] = {FACTS: {}, PROPOSED_FACTS: {}}

    def add(self, changes: Mapping[str, BlobChange]) -> None:
        """Change facts, cycles, decisions or the context."""
        self._changes[FACTS].update(changes)

    def propose(self, changes: Mapping[str, BlobChange]) -> None:
        """Change proposals."""
        self._changes[PROPOSED_FACTS].update(changes)

    def add_key(self, key: str) -> None:
        """Add a key for all conversations."""
        self._changes[FACTS][f"{_KEYS}/{leaf(key)}"] = b""

    def commit(self, kind: str, sign: Callable[[bytes], bytes] = bytes) -> OperationId:
        """Write the commits and record the operation; `sign` signs the commit of the facts, if a person decided."""
        store = self._store
        transaction = RefTransaction(store.repository)
        count = sum(map(len, self._changes.values()))
        in_pack = bulk_objects(store.repository) if count >= _IN_ONE_PACK else nullcontext(store.repository)
        with in_pack as objects:
            for ref, changes in self._changes.items():
                if changes:
                    previous = store.commits[ref]
                    signed = sign if ref == FACTS else bytes
                    commit = write_metadata(objects, previous, changes, self._summary, sign=signed)
                    transaction.move_ref(ref, previous, commit)
        return transaction.commit(kind, self._summary).id


def decode_fact_at(path: str, data: bytes) -> Fact:
    """Decode the fact of a path.

    Raises:
        Corrupt: it is none, or has another key or id than its path.
    """
    fact = decode_fact(data)
    _require_path(path, fact)
    return fact


def decode_proposed_at(path: str, data: bytes) -> ProposedFact:
    """Decode the proposal of a path.

    Raises:
        Corrupt: it is none, or has another key or id than its path.
        TooNew: a newer version wrote it.
    """
    proposal = decode_proposed(data)
    _require_path(path, proposal)
    return proposal


def decode_context(data: bytes) -> Mapping[str, object]:
    """Decode the state of a context.

    Raises:
        Corrupt: it is not a JSON object.
    """
    document = canonical_json.load(data)
    if not isinstance(document, dict):
        raise Corrupt("the context is not a JSON object", hint="see: scopes verify")
    return document


def _require_path(path: str, fact: Fact | ProposedFact) -> None:
    try:
        is_there = path.endswith(f"/{_path_in_key(fact.key, fact.id)}")
    except Invalid:
        is_there = False
    if not is_there:
        raise Corrupt("a fact has another key or id than its path", hint="see: scopes verify")


def _path_in_key(key: str, fact_id: str) -> str:
    if max(len(key), len(fact_id)) > MAX_KEY_BYTES:
        raise Invalid("the key or the id of a fact is too long")
    bucket = hashlib.sha256(fact_id.encode("utf-8", "surrogatepass")).hexdigest()[:2]
    return f"{encode_component(key)}/{bucket}/{leaf(fact_id)}"


def _commit_of(repository: Repository, ref: str) -> Oid | None:
    value = repository.find_ref(ref)
    return None if value is None else Oid(value)


def _decode_names(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        with suppress(Invalid):
            yield decode_component(name.removesuffix("="))


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _decode_unseen(value: object) -> dict[int, frozenset[str]]:
    """Return keys by the number of an agent; what is damaged is left out."""
    return {
        int(number): frozenset(map(str, keys))
        for number, keys in (value.items() if isinstance(value, dict) else ())
        if isinstance(number, str) and number.isdecimal() and isinstance(keys, list)
    }


def _decode_question(value: object) -> Question | None:
    match value:
        case {"id": str(question), "key": str(key), "text": str(text), "agent": str(agent)}:
            return Question(id=question, key=key, text=text, agent=agent)
    return None
