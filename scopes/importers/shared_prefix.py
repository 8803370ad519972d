"""Find sessions that begin with the messages of another one and name no parent: copies, continued differently.

Equal content alone is no proof: two sessions that begin with the same prompt often get the same short first answer. So
a session joins another one only if they share an agent's answer after at least one other message, and one of these is
equal too: an id that the model's API gave (of the answer or of a tool call), the exact time of the answer, or a text of
the agent that is too long to be written twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from scopes.errors import CannotImport
from scopes.history.sources import SEGMENTS, SOURCES
from scopes.ids import MessageId, Oid
from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.events import Draft, Ending, Event, Session
from scopes.importers.identity import content_bytes, message_id, source_key_of
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.targets import ImportTargets
from scopes.importers.work_queue import QueuedSource, sort_key, sort_parents_first
from scopes.importers.worker_pool import WorkerPool, count_workers
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import read_blob, walk_blobs

MIN_TEXT = 1000  # code points; independent answers to one prompt were equal in up to 559
MAX_ANSWERS = 8  # at the beginning of a session, which are compared
_SOURCES_PER_WORKER = 20  # fewer are read sooner than a worker is started
_SOURCES_PER_TASK = 5  # of a worker: a message for each source takes as long as reading it
_MAX_PAGES = 2  # of the segments of a stored source, in which its first answers are
_RANDOM_ID = re.compile(r"(?:[A-Za-z]+[_-]){0,2}[A-Za-z0-9-]{20,}")
_EXACT_TIME = re.compile(r".*\.\d*[1-9]\d*(?:Z|[+-]\d\d:\d\d)")  # with a fraction of a second
_MESSAGE = re.compile(rb'"message":"([a-z2-7]{26})"')


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first answers of a session.

    answers: their message ids, which are hashes of everything up to them
    proofs: hashes of an answer's id and of what only a copy of it has too; those of later answers are later
    """

    answers: tuple[MessageId, ...] = ()
    proofs: tuple[bytes, ...] = ()


@dataclass(slots=True)
class _Line:
    """The line of messages up to one of them: its id, their number, and the length of the agent's text in them."""

    message: MessageId
    length: int
    text: int


def can_join(session: Session) -> bool:
    """Return True if a session may join another one, or be joined: it is no sub-agent and names no other session."""
    return session.base is None and session.sub_file is None and session.spawned_by is None


def read_beginning(events: Iterable[Event]) -> Beginning:
    """Read the first answers of the first session; the other events are not read."""
    lines: dict[str, _Line] = {}
    answers: list[MessageId] = []
    proofs: dict[bytes, None] = {}
    for event in events:
        if isinstance(event, Ending) or len(answers) == MAX_ANSWERS:
            break
        if not isinstance(event, Draft) or event.side is not None or event.spawned_by is not None:
            continue
        before = None if event.parent is None else lines.get(event.parent)
        if before is None and event.parent is not None:
            continue  # it follows a sub-agent's message
        identity = message_id(None if before is None else before.message, content_bytes(event))
        line = _Line(identity, 1, 0) if before is None else _Line(identity, before.length + 1, before.text)
        lines[event.key] = line
        if event.author.kind == "agent":
            line.text += sum(len(part.fields.get("text") or "") for part in event.parts if part.type == "text")
            if line.length > 1:
                answers.append(identity)
                proofs |= dict.fromkeys(_proofs_of(event, line))
    return Beginning(tuple(answers), tuple(proofs))


def find_joins(
    repository: Repository,
    objects: Objects,
    targets: ImportTargets,
    queue: Sequence[QueuedSource],
    *,
    join: bool,
) -> list[QueuedSource]:
    """Return the queue with the session that each one joins, sorted so that this one comes first.

    A session joins the one that shares most of its first answers, and of several the first in import order. Those that
    were imported before stay where they are; without `join`, new ones join none.
    """
    keys = [source_key_of(queued.session) for queued in queue]
    joined = {key: stored.record.joined for key in keys if (stored := targets.stored(key)) is not None}
    new = {
        key: queued
        for key, queued in zip(keys, queue, strict=True)
        if join and can_join(queued.session) and not targets.was_imported(key)
    }
    beginnings = dict(zip(new, _read_beginnings(repository, list(new.values())), strict=True))
    wanted = {answer for beginning in beginnings.values() for answer in beginning.answers}
    owners: dict[bytes, QueuedSource] = {}
    for queued, beginning in _walk_stored(repository, objects, targets, wanted):
        _add_owner(owners, queued, beginning)
    for key, queued in new.items():
        beginning = beginnings[key]
        owner = next((owners[proof] for proof in reversed(beginning.proofs) if proof in owners), None)
        joined[key] = None if owner is None else source_key_of(owner.session)
        _add_owner(owners, queued, beginning)
    if not any(joined.values()):
        return list(queue)
    return sort_parents_first(
        [replace(queued, joined=joined.get(key)) for key, queued in zip(keys, queue, strict=True)]
    )


def _proofs_of(draft: Draft, line: _Line) -> Iterator[bytes]:
    calls = (part.fields.get("call_id") for part in draft.parts if part.type == "tool_call")
    for name in dict.fromkeys((*draft.native_ids, *calls)):
        if isinstance(name, str) and _RANDOM_ID.fullmatch(name):
            yield _proof(line, "id", name)
    if draft.precision == "exact" and draft.time is not None and _EXACT_TIME.fullmatch(draft.time):
        yield _proof(line, "time", draft.time)
    if line.text >= MIN_TEXT:
        yield _proof(line, "text", "")


def _proof(line: _Line, kind: str, value: str) -> bytes:
    return sha256("\0".join((line.message, kind, value)).encode("utf-8", "surrogatepass")).digest()[:16]


def _read_beginnings(repository: Repository, queue: Sequence[QueuedSource]) -> list[Beginning]:
    """Return the first answers of sources; worker processes read those of many."""
    tasks = [queue[start : start + _SOURCES_PER_TASK] for start in range(0, len(queue), _SOURCES_PER_TASK)]

    def read(number: int, _: Callable[[int], None] = lambda _: None) -> tuple[int, list[Beginning]]:
        return number, [_read_beginning(queued.format, queued.source) for queued in tasks[number]]

    workers = min(count_workers(repository), len(queue) // _SOURCES_PER_WORKER)
    if workers < 2:
        found = dict(map(read, range(len(tasks))))
    else:
        with WorkerPool(workers, read, lambda: None, lambda _: None) as pool:
            found = dict(pool.run(range(len(tasks)), lambda _: None))
    return [beginning for number in range(len(tasks)) for beginning in found[number]]


def _read_beginning(chosen: Format, source: Source) -> Beginning:
    """Return the first answers of a source; none if it cannot be read, which the import reports."""
    with suppress(OSError, CannotImport):
        return read_beginning(chosen.walk_events(source))
    return Beginning()


def _add_owner(owners: dict[bytes, QueuedSource], queued: QueuedSource, beginning: Beginning) -> None:
    """Record the first session, in import order, that has each of the proofs."""
    for proof in beginning.proofs:
        known = owners.get(proof)
        if known is None or sort_key(queued) < sort_key(known):
            owners[proof] = queued


def _walk_stored(
    repository: Repository,
    objects: Objects,
    targets: ImportTargets,
    wanted: set[MessageId],
) -> Iterator[tuple[QueuedSource, Beginning]]:
    """Yield the stored sources that have one of the messages, if their conversation exists."""
    for ref, oid in repository.list_refs(SOURCES).items() if wanted else ():
        if wanted.isdisjoint(_first_message_ids(objects, Oid(oid))):
            continue
        stored = targets.stored(ref[len(SOURCES) :])
        chosen = None if stored is None else targets.formats.get(stored.record.format)
        if stored is None or chosen is None or not targets.has_conversation(stored.record.root):
            continue
        source = StoredCopy(stored.record.path, stored.record.size, objects, stored.commit)
        with suppress(OSError, CannotImport):
            session = next(iter(chosen.walk_events(source)), None)
            if isinstance(session, Session) and stored.record.part is None and can_join(session):
                yield QueuedSource(source, chosen, session), read_beginning(chosen.walk_events(source))


def _first_message_ids(objects: Objects, commit: Oid) -> set[MessageId]:
    """Return the ids of the first messages of a stored source, without parsing its segments."""
    tree = read_commit(objects, commit).tree
    pages = sorted(entry for entry in walk_blobs(objects, tree) if entry[0].startswith(SEGMENTS))
    found: set[MessageId] = set()
    for _, oid in pages[:_MAX_PAGES]:
        found |= {MessageId(name.decode("ascii")) for name in _MESSAGE.findall(read_blob(objects, oid))}
    return found
