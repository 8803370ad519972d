"""The rows of facts in the change log: facts, proposals, decisions, questions and cycles of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from scopes.conversation.change import FieldChange, cause_of
from scopes.history.shared_refs import KEY_FILES, decode_leaf, read_json, walk_changes_below
from scopes.model.operation import Operation
from scopes.store.refs import FACTS, PROPOSED_FACTS
from scopes.store.repository import Repository

_AGENTS_WRITE: Final = frozenset({"facts-run", "facts-propose"})  # operations whose proposals name who made them
_DECISIONS: Final = "decisions/"
_REFS: Final = frozenset({FACTS, PROPOSED_FACTS})
_SHOWN: Final = ("content", "confidence", "invalidates", "state", "expires", "reason", "decision", "rationale")


_File: TypeAlias = tuple[str, str, Any, Any]
"""Ref and path of a file, and its document before and after; None for no file."""


def walk_fact_changes(repository: Repository, record: Operation, uuid: str) -> Iterator[FieldChange]:
    """Yield what an operation did to the facts of a conversation.

    The fields are `facts.KEY.ID`, `proposed_facts.KEY.ID`, `fact_decisions.SUBJECT`, `fact_questions.ID` and
    `fact_cycles.NUMBER`. The cause of a proposal or a fact is who made it, if that is not who ran the command;
    with a decision it is the person who decided.
    """
    files = list(_walk_files(repository, record, uuid))
    decisions = (after for _, path, _, after in files if path.startswith(_DECISIONS))
    decided = next(map(_decision_cause, decisions), None) if record.undoes is None else None
    for change in _walk_changes(record, files):
        yield change if change.cause is not None else change._replace(cause=decided)


def _walk_changes(record: Operation, files: Iterable[_File]) -> Iterator[FieldChange]:
    for ref, path, before, after in files:
        parts = path.split("/")
        match [*parts[:-1], parts[-1].removesuffix("=")]:
            case ["facts", key, _, name] if ref == FACTS:
                yield _fact_change(record, f"facts.{decode_leaf(key)}.{decode_leaf(name)}", before, after)
            case [key, _, name] if ref == PROPOSED_FACTS:
                yield _fact_change(record, f"proposed_facts.{decode_leaf(key)}.{decode_leaf(name)}", before, after)
            case ["decisions", subject] if ref == FACTS:
                yield _fact_change(record, f"fact_decisions.{decode_leaf(subject)}", before, after)
            case ["context.json"] if ref == FACTS:
                yield from _question_changes(before, after)
            case ["cycles", file] if ref == FACTS:
                number = file.removesuffix(".json").lstrip("0")
                yield FieldChange(f"fact_cycles.{number}", _shown_cycle(before), _shown_cycle(after))


def walk_key_changes(repository: Repository, record: Operation) -> Iterator[FieldChange]:
    """Yield the context keys that an operation added for all conversations, or took back: `context_keys.KEY`."""
    for _, path, before, after in _walk_files(repository, record, KEY_FILES[:-1], is_json=False):
        yield FieldChange(f"context_keys.{decode_leaf(path)}", before, after)


def _walk_files(repository: Repository, record: Operation, directory: str, *, is_json: bool = True) -> Iterator[_File]:
    """Yield the files below a directory that an operation changed."""
    for change in record.changes:
        for path, *blobs in walk_changes_below(repository, change, directory) if change.ref in _REFS else ():
            before, after = (
                None if blob is None else read_json(repository, blob) if is_json else "added" for blob in blobs
            )
            yield change.ref, path, before, after


def _decision_cause(document: Any) -> str | None:
    """Return the person who decided, as a cause; None if a decision was taken back."""
    actor = document.get("actor") if isinstance(document, dict) else None
    return cause_of("human", actor) if isinstance(actor, str) else None


def _fact_change(
    record: Operation, path: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> FieldChange:
    agent = _agent_of(record, after or before)
    cause = None if agent is None else cause_of("agent", agent)
    return FieldChange(path, _shown(before), _shown(after), cause=cause)


def _shown(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if document is None else {name: document[name] for name in _SHOWN if name in document}


def _agent_of(record: Operation, document: Mapping[str, Any] | None) -> str | None:
    source = (document or {}).get("provenance")
    name = source.get("agent") if isinstance(source, dict) else None
    is_other = isinstance(name, str) and name != record.actor and record.kind in _AGENTS_WRITE
    return name if is_other and isinstance(name, str) else None


def _question_changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[FieldChange]:
    """Yield the questions that agents asked, and those that were answered or are open no more."""
    old, new = _questions_of(before), _questions_of(after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            agent = (new.get(name) or {}).get("agent")
            cause = cause_of("agent", agent) if isinstance(agent, str) and name not in old else None
            yield FieldChange(f"fact_questions.{name}", old.get(name), new.get(name), cause=cause)


def _questions_of(context: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    questions = (context or {}).get("questions")
    found = [each for each in questions if isinstance(each, dict)] if isinstance(questions, list) else []
    return {str(each.get("id")): {k: v for k, v in each.items() if k != "id"} for each in found}


def _shown_cycle(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return which agents ran in a cycle, and the keys that were dirty before it."""
    if document is None:
        return None
    ran = document.get("ran")
    names = [str(each.get("name")) for each in ran if isinstance(each, dict)] if isinstance(ran, list) else []
    return {"ran": names, "dirty": document.get("dirty")}
