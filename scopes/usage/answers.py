"""Read the model answers of a conversation, with the tokens that their provider reported.

A transcript may be stored more than once: a fork has the answers of its parent, a copy by `redact` those of the
original, and a session that was read again has messages with other ids. `Answer.key` is the same for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import parse_time
from scopes.history.messages import MessageHeader, header_of, is_root, read_body_bytes
from scopes.history.usage import count_of, tokens_of
from scopes.ids import Oid
from scopes.model.codec import decode
from scopes.model.message import COPIED, Message
from scopes.store.objects import Commit
from scopes.store.repository import Objects

QUARTER_SECONDS: Final = 900  # every time zone begins its days at a quarter of an hour
SIZES: Final = (0, 100_000, 128_000, 200_000, 272_000, 512_000)  # tokens of input above which some prices differ
_USAGE: Final = b'"usage"'
_COPIED: Final = b'"%s"' % COPIED.encode()
_NOTHING: Final[Mapping[str, Any]] = {}


class Amounts(NamedTuple):
    """Counts of answers and of their tokens; a count that no answer recorded is 0.

    input: neither read from a cache nor written to one
    cache_write: all tokens written to a cache; cache_write_1h: those of them that are kept for an hour
    output: all tokens of output; reasoning: those of them that are reasoning
    """

    answers: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return self.input + self.cache_read + self.cache_write + self.output


class Group(NamedTuple):
    """What answers are grouped by.

    quarter: the number of the quarter of an hour since 1970; None if no time is known
    size: the largest of SIZES that the tokens of input exceed
    """

    quarter: int | None
    model: str | None
    agent: str
    size: int


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


Answers: TypeAlias = dict[bytes, Answer | bool]
"""By commit: its answer; True if it is an answer without recorded tokens; False if it is another message."""


def read_answers(objects: Objects, commits: Iterable[Commit], root: Oid, known: Answers) -> Answers:
    """Return what the commits of a conversation are, by commit; those in `known` are not read again."""
    found: Answers = {}
    for commit in commits:
        oid = bytes.fromhex(commit.oid)
        if is_root(commit):
            continue
        kept = known.get(oid)
        found[oid] = _read_answer(objects, header_of(commit), root) if kept is None else kept
    return found


def _read_answer(objects: Objects, head: MessageHeader, root: Oid) -> Answer | bool:
    if head.author_kind == "human":
        return False
    data = read_body_bytes(objects, head)
    message = decode(data) if _USAGE in data else None
    tokens = None if message is None else tokens_of(message)
    if message is None or tokens is None:
        return head.kind == "answer" and _COPIED not in data
    writes = tokens.cache_write or 0
    amounts = Amounts(
        1,
        tokens.input_uncached or 0,
        tokens.cache_read or 0,
        writes,
        min(_hour_writes(message), writes),
        tokens.output or 0,
        min(tokens.reasoning or 0, tokens.output or 0),
    )
    exact = _exact_time(message)
    identity = (message.model, *amounts[1:])
    in_whole_seconds = exact is not None and exact % 1_000_000_000 == 0
    key = _hash(exact, identity, head.id if in_whole_seconds else "") if exact is not None else _hash(head.id, root)
    quarter = head.time // QUARTER_SECONDS if head.time > 0 else None
    size = max(limit for limit in SIZES if limit == 0 or tokens_of_input(amounts) > limit)
    group = Group(quarter, message.model, str(head.author), size)
    return Answer(key, _hash(head.id), exact is not None, group, amounts)


def tokens_of_input(amounts: Amounts) -> int:
    """Return all tokens of input, cached or not."""
    return amounts.input + amounts.cache_read + amounts.cache_write


def _exact_time(message: Message) -> int | None:
    """Return the recorded time of a message in nanoseconds; None if there is none, or it is that of a copy."""
    if message.time is None or message.extra.get("precision") not in {"exact", None}:
        return None
    return parse_time(message.time)


def _hour_writes(message: Message) -> int:
    """Return the tokens that were written to a cache that is kept for an hour, as Anthropic reports them."""
    usage = message.extra.get("usage", _NOTHING)
    raw = usage.get("raw") if isinstance(usage, Mapping) else None
    creation = raw.get("cache_creation") if isinstance(raw, Mapping) else None
    return (count_of(creation.get("ephemeral_1h_input_tokens")) or 0) if isinstance(creation, Mapping) else 0


def _hash(*values: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()[:8], "big")
