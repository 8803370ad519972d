"""Read the model answers of a conversation, with the tokens that their provider reported.

A transcript may be stored more than once: a fork has the answers of its parent, a copy by `redact` those of the
original, and a session that was read again has messages with other ids. `Answer.key` is the same for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import parse_time
from scopes.history.activity import count_of, tokens_of
from scopes.history.messages import MessageHeader, header_of, is_root, read_body_bytes, read_root_of
from scopes.hosts.agents import AGENTS, find_agent_named
from scopes.ids import Oid
from scopes.model.message import COPIED, Message, decode
from scopes.store.objects import Commit, Objects
from scopes.usage.amounts import INCOMPLETE, QUARTER_SECONDS, SIZES, Amounts, Group

_USAGE: Final = b'"usage"'
_COPIED: Final = b'"%s"' % COPIED.encode()
_NOTHING: Final[Mapping[str, Any]] = {}
_INPUTS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")  # of Anthropic


class Answer(NamedTuple):
    """One answer of a model.

    key: the same for every copy of the answer
    message: 8 bytes of the hash of its message id
    timed: the time of the answer was recorded, so that its key has no part of the conversation
    """

    key: int
    message: int
    timed: bool
    group: Group
    amounts: Amounts


Answers: TypeAlias = dict[bytes, Answer | int]
"""By commit: its answer, or OTHER, UNMEASURED or COPIED_ANSWER."""

OTHER: Final = 0  # no answer of a model, or the rest of one
UNMEASURED: Final = 1  # an answer without recorded tokens
COPIED_ANSWER: Final = 2  # an answer of a session that is not here, which has its tokens


def read_answers(objects: Objects, commits: Iterable[Commit], root: Oid, known: Answers) -> Answers:
    """Return what the commits of a conversation are, by commit; those in `known` are not read again.

    commits: parents before children, so that each follows the program whose session it is in
    """
    found: Answers = {}
    programs: dict[Oid, str | None] = {}
    for commit in commits:
        if is_root(commit):
            imported_from = read_root_of(objects, commit, commit.oid).format
            programs[commit.oid] = imported_from if imported_from in AGENTS else None
            continue
        head = header_of(commit)
        before = programs.get(commit.parents[0]) if commit.parents else None
        is_program = head.author_kind == "agent" and _is_program(head.author)
        programs[commit.oid] = str(head.author) if is_program else before
        oid = bytes.fromhex(commit.oid)
        kept = known.get(oid)
        found[oid] = read_answer(objects, head, root, programs[commit.oid]) if kept is None else kept
    return found


@lru_cache(maxsize=1000)
def _is_program(author: str) -> bool:
    return find_agent_named(author) is not None


def read_answer(objects: Objects, head: MessageHeader, root: Oid, program: str | None = None) -> Answer | int:
    """Return what a message is: an answer, or OTHER, UNMEASURED or COPIED_ANSWER.

    program: whose session it is in: an imported answer is its, also one of a sub-agent, which has a name of its own
    """
    if head.author_kind == "human":
        return OTHER
    data = read_body_bytes(objects, head)
    message = decode(data) if _USAGE in data else None
    amounts = None if message is None else _read_amounts(message)
    if message is None or amounts is None:
        if head.kind != "answer":
            return OTHER
        return COPIED_ANSWER if _COPIED in data else UNMEASURED
    if not amounts.tokens:
        return OTHER
    exact = _exact_time(message)
    in_whole_seconds = exact is not None and exact % 1_000_000_000 == 0
    identity = (message.model, *amounts, head.id if in_whole_seconds else "")
    key = _hash(head.id, root) if exact is None else _hash(exact, identity)
    quarter = head.time // QUARTER_SECONDS if head.time > 0 else None
    size = max(limit for limit in SIZES if limit == 0 or amounts.all_input > limit)
    if not _is_complete(message):
        size = INCOMPLETE
    is_imported = "precision" in message.extra
    group = Group(quarter, message.model, (is_imported and program) or str(head.author), size)
    return Answer(key, _hash(head.id), exact is not None, group, amounts)


def _read_amounts(message: Message) -> Amounts | None:
    """Return the tokens of a message; None if there are none.

    An answer may be several messages, with its tool calls between them. Each has the tokens that those before it do
    not have, while the object of the provider (`raw`) has those of all. The first one counts as the answer.
    """
    tokens = tokens_of(message)
    if tokens is None:
        return None
    raw = message.extra["usage"].get("raw")
    provided = raw if isinstance(raw, Mapping) else _NOTHING
    writes = tokens.cache_write or 0
    found = Amounts(
        1,
        tokens.input_uncached or 0,
        tokens.cache_read or 0,
        writes,
        min(_hour_writes(provided), writes),
        tokens.output or 0,
        min(tokens.reasoning or 0, tokens.output or 0),
    )
    if not found.all_input and any(count_of(provided.get(name)) for name in _INPUTS):
        return found._replace(answers=0)
    return found if found.tokens else None


def _is_complete(message: Message) -> bool:
    """Return True if tokens of both input and output were recorded; without, a cost would be too low."""
    tokens = tokens_of(message)
    return tokens is not None and tokens.input is not None and tokens.output is not None


def _exact_time(message: Message) -> int | None:
    """Return the recorded time of a message in nanoseconds; None if there is none, or it is that of a copy."""
    if message.time is None or message.extra.get("precision") not in {"exact", None}:
        return None
    return parse_time(message.time)


def _hour_writes(raw: Mapping[str, Any]) -> int:
    """Return the tokens that were written to a cache that is kept for an hour, as Anthropic reports them."""
    creation = raw.get("cache_creation")
    return (count_of(creation.get("ephemeral_1h_input_tokens")) or 0) if isinstance(creation, Mapping) else 0


def _hash(*values: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()[:8], "big")
