"""The changes of the facts of a conversation, for the change log: derived from the operations that moved their refs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scopes.ids import Oid
from scopes.model import encoding
from scopes.model.operation import Operation
from scopes.model.path_encoding import decode_component
from scopes.store.operation_log import walk_operations
from scopes.store.refs import FACTS, PROPOSED_FACTS
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import diff_blobs, find_entry, read_blob

_AGENTS_WRITE = frozenset({"facts-run", "facts-propose"})  # kinds of operations whose proposals name who made them
_SHOWN = ("content", "confidence", "invalidates", "state", "reason", "decision", "rationale")


class FactChange(NamedTuple):
    """A fact, a proposal or a decision that an operation added, changed or removed.

    field_path: `facts.KEY.ID`, `proposed_facts.KEY.ID` or `fact_decisions.SUBJECT`
    agent: who made a proposal or a fact, if that is not who ran the command
    """

    record: Operation
    field_path: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    agent: str | None


def walk_fact_changes(repository: Repository, uuid: str) -> Iterator[FactChange]:
    """Yield the changes of the facts of a conversation, the newest operation first."""
    if all(repository.find_ref(ref) is None for ref in (FACTS, PROPOSED_FACTS)):
        return
    for _, record in walk_operations(repository):
        for change in record.changes:
            if change.ref in {FACTS, PROPOSED_FACTS}:
                old, new = (_tree_of(repository, value, uuid) for value in (change.old, change.new))
                for path, *blobs in diff_blobs(repository, old, new) if old != new else ():
                    field = _field_of(change.ref, path)
                    if field is not None:
                        before, after = (_read(repository, oid) for oid in blobs)
                        yield FactChange(
                            record, field, _shown(before), _shown(after), _agent_of(record, after or before)
                        )


def _tree_of(repository: Repository, commit: str | None, uuid: str) -> Oid | None:
    entry = None if commit is None else find_entry(repository, read_commit(repository, Oid(commit)).tree, uuid)
    return entry.oid if entry is not None and entry.is_tree else None


def _field_of(ref: str, path: str) -> str | None:
    """Return the field of a file; None for what is no fact, such as a cycle."""
    parts = path.split("/")
    match [] if not parts[-1].endswith("=") else [*parts[:-1], parts[-1][:-1]]:
        case ["facts", key, _, fact] if ref == FACTS:
            return f"facts.{decode_component(key)}.{decode_component(fact)}"
        case ["decisions", subject] if ref == FACTS:
            return f"fact_decisions.{decode_component(subject)}"
        case [key, _, fact] if ref == PROPOSED_FACTS:
            return f"proposed_facts.{decode_component(key)}.{decode_component(fact)}"
    return None


def _read(repository: Repository, oid: Oid | None) -> Mapping[str, Any] | None:
    document = None if oid is None else encoding.load(read_blob(repository, oid))
    return document if isinstance(document, dict) else None


def _shown(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if document is None else {name: document[name] for name in _SHOWN if name in document}


def _agent_of(record: Operation, document: Mapping[str, Any] | None) -> str | None:
    source = (document or {}).get("provenance")
    name = source.get("agent") if isinstance(source, dict) else None
    is_other = isinstance(name, str) and name != record.actor and record.kind in _AGENTS_WRITE
    return name if is_other and isinstance(name, str) else None
