"""`diff` and `range-diff`: compare two branches, messages, conversations or ranges; the exit code is that of diff(1).

Messages are matched by id and compared by content, not by commit, so a rebased or cherry-picked message counts as the
same (S4-62). `diff` compares the states claim by claim: decisions, proposals, findings, files written. `range-diff`
pairs messages without a common id by their content, as git range-diff pairs commits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.errors import Invalid, NotFound
from scopes.history.messages import NO_TEXT, MessageHeader, header_of, is_root, read_body, subject_of
from scopes.history.names import (
    LATEST,
    Revision,
    find_latest_with_branch,
    resolve_conversation,
    resolve_revision,
    resolve_revision_anywhere,
    resolve_with_latest,
)
from scopes.ids import ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import agent_of, key_of_path
from scopes.merge.plan import claim_value
from scopes.model import canonical_json
from scopes.model.message import CONFLICTS, PARTICIPANTS, Message, content_of
from scopes.model.tools import summarize_calls
from scopes.result import HIDDEN, OMIT_EMPTY, Result, named, shown
from scopes.sanitize import SUBJECT_LENGTH
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.objects import Commit, diff_blobs, read_blob
from scopes.store.repository import Repository

_NOT_COMPARED = frozenset({PARTICIPANTS, CONFLICTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """One side of a comparison: the name that was given and the revision it resolved to."""

    name: str
    revision: Revision

    def document(self) -> dict[str, object]:
        """Return the side as a JSON object."""
        return canonical_json.without_none(name=self.name, **self.revision._asdict())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMessage:
    """A message that is on both sides with different content."""

    head: MessageHeader
    left: Message
    right: Message

    def document(self) -> dict[str, object]:
        """Return the texts of both sides."""
        return {"id": self.head.id, "left": self.left.text, "right": self.right.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedClaim:
    """A claim with different values: its key, its agent if claims of that group belong to agents, and both values.

    `in_left` and `in_right` tell an absent claim from one whose value is null. `changed_in` is the only side that
    changed it since the merge base, "left" or "right"; None if both did, or if there is not exactly one merge base.
    """

    key: str
    agent: str | None
    left: Any
    right: Any
    in_left: bool
    in_right: bool
    changed_in: str | None = None

    def document(self) -> dict[str, object]:
        """Return the claim; a side without it is absent. `changed_in` is there if only one side changed it."""
        sides = (("left", self.left, self.in_left), ("right", self.right, self.in_right))
        known = canonical_json.without_none(key=self.key, agent=self.agent, changed_in=self.changed_in)
        return known | {name: value for name, value, there in sides if there}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Result):
    """The differences between two sides; messages are oldest first, claims sorted by key.

    `bodies` has, if requested, the messages of either side whose commits do not show their whole text. With `stat` only
    the counts are shown.
    """

    left: DiffSide
    right: DiffSide
    only_left: tuple[MessageHeader, ...]
    only_right: tuple[MessageHeader, ...]
    changed: tuple[ChangedMessage, ...]
    claims: tuple[ChangedClaim, ...]
    bodies: Mapping[Oid, Message] = field(default_factory=dict)
    stat: bool = False

    def document(self) -> dict[str, object]:
        """Return the sides and the counts, without `stat` also what is counted."""
        found = {name: getattr(self, name) for name in ("only_left", "only_right", "changed", "claims")}
        counts = {name: len(value) for name, value in found.items()}
        sides = {"left": self.left, "right": self.right}
        document = {"kind": "diff", "equal": self.exit_code == 0, **sides, "counts": counts}
        return document if self.stat else document | found

    @property
    def exit_code(self) -> int:
        """1 if there is a difference, otherwise 0, as for diff(1)."""
        return 1 if self.only_left or self.only_right or self.changed or self.claims else 0


def diff(
    repository: Repository, left: str, right: str | None = None, *, bodies: bool = False, stat: bool = False
) -> Difference:
    """Compare two revisions: two anywhere in the store, or a conversation and a range `A..B` in it.

    A revision may be named without its conversation if that is the latest one. With `bodies` the result has the texts
    that a person wants to see, with `stat` only the counts are shown.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Invalid: only one revision is given.
    """
    left_side, right_side = resolve_sides(repository, left, right)
    left_tip, right_tip = left_side.revision.oid, right_side.revision.oid
    bases = list_merge_bases(repository, left_tip, right_tip)
    in_left = _messages_by_id(list_new_commits(repository, left_tip, right_tip, bases))
    in_right = _messages_by_id(list_new_commits(repository, right_tip, left_tip, bases))
    changed = (
        ChangedMessage(head=head, left=read_body(repository, head), right=read_body(repository, in_right[message_id]))
        for message_id, head in in_left.items()
        if message_id in in_right
    )
    only_left = tuple(head for message_id, head in in_left.items() if message_id not in in_right)
    only_right = tuple(head for message_id, head in in_right.items() if message_id not in in_left)
    shown = (*only_left, *only_right)
    claims = list(_changed_claims(repository, left_tip, right_tip, bases))
    return Difference(
        left=left_side,
        right=right_side,
        only_left=only_left,
        only_right=only_right,
        changed=tuple(each for each in changed if content_of(each.left) != content_of(each.right)),
        claims=tuple(sorted(claims, key=lambda claim: (claim.key, claim.agent or ""))),
        bodies={head.oid: read_body(repository, head) for head in shown if bodies and _is_cut(head)},
        stat=stat,
    )


def resolve_sides(repository: Repository, left: str, right: str | None) -> tuple[DiffSide, DiffSide]:
    """Resolve the arguments: `A B`, `CONV A..B` or `CONV/A..B`; `A...B` compares the merge base with B, as in git.

    Raises as `diff` does.
    """
    text = left if right is None else right
    one, dots, two = text.partition("..")
    if not dots:
        if right is None and not _is_in_latest(repository, left):
            raise Invalid("name two revisions to compare", hint="for example: conv-001 main..fix")
        one, two = (left, right) if right is not None else (LATEST, left)
    if dots and right is not None:
        revision = resolve_revision(repository, one or left, resolve_conversation(repository, left))
    else:
        revision = resolve_with_latest(repository, one or left)
    first = DiffSide(name=one or left, revision=revision)
    name = two.removeprefix(".") or revision.conversation
    second = DiffSide(name=name, revision=resolve_revision_anywhere(repository, name, revision.conversation))
    return (_merge_base(repository, first, second), second) if two.startswith(".") else (first, second)


def _is_in_latest(repository: Repository, text: str) -> bool:
    """Return True if a word is not a conversation or message of the store, but may be a name in the latest one."""
    if find_latest_with_branch(repository, text) is not None:
        return True
    try:
        resolve_revision(repository, text)
    except NotFound:
        return True
    return False


def _merge_base(repository: Repository, first: DiffSide, second: DiffSide) -> DiffSide:
    bases = list_merge_bases(repository, first.revision.oid, second.revision.oid)
    if len(bases) != 1:
        raise Invalid(
            f"{first.name} and {second.name} have {len(bases)} merge bases", hint="compare them with two dots: A..B"
        )
    return DiffSide(name=f"{first.name}...", revision=Revision(first.revision.conversation, None, bases[0]))


def _messages_by_id(commits: Iterable[Commit]) -> dict[MessageId, MessageHeader]:
    """Return the messages of commits by id, in the same order."""
    return {head.id: head for head in (header_of(commit) for commit in commits if not is_root(commit))}


def _is_cut(head: MessageHeader) -> bool:
    return head.subject == NO_TEXT or len(head.subject) >= SUBJECT_LENGTH


def _changed_claims(repository: Repository, left: Oid, right: Oid, bases: Sequence[Oid]) -> Iterator[ChangedClaim]:
    changed_by: dict[str, set[str]] = {}  # the sides that changed a claim since the only merge base
    for side, tip in (("left", left), ("right", right)) if len(bases) == 1 else ():
        for path, _, _ in diff_blobs(repository, state_of(repository, bases[0]), state_of(repository, tip)):
            changed_by.setdefault(path, set()).add(side)
    for path, *blobs in diff_blobs(repository, state_of(repository, left), state_of(repository, right)):
        if path.partition("/")[0] in _NOT_COMPARED:
            continue
        key, sides = key_of_path(path), changed_by.get(path, set())
        values = [each and claim_value(key, canonical_json.load(read_blob(repository, each))) for each in blobs]
        yield ChangedClaim(
            key=key,
            agent=agent_of(path),
            left=values[0],
            right=values[1],
            in_left=blobs[0] is not None,
            in_right=blobs[1] is not None,
            changed_in=min(sides) if len(sides) == 1 else None,
        )


MIN_SIMILARITY = 0.5
_AHEAD = 48  # messages of the other side that are compared with one
_MAX_WORDS = 400
_WORDS = re.compile(r"\w+")
_OMITTED = frozenset({"call_id", "opaque"})
Pair: TypeAlias = tuple[int, int]


class Content(NamedTuple):
    """What pairing compares: the message id, what must be equal in a pair, the lines, and the words of the lines."""

    id: str
    group: Hashable
    lines: tuple[str, ...]
    words: frozenset[str]


def read_content(message: Message) -> Content:
    """Return the comparable content of a message; ids of calls are not part of it, because each run has its own."""
    lines = tuple(_content_lines(message))
    tools = tuple(str(part.fields.get("name")) for part in message.parts if part.type == "tool_call")
    words = (match[0] for line in lines for match in _WORDS.finditer(line))
    return Content(message.id, (message.kind, message.author.kind, tools), lines, frozenset(islice(words, _MAX_WORDS)))


def pair_messages(left: Sequence[Content], right: Sequence[Content]) -> list[Pair]:
    """Return the positions of the messages that belong together, sorted; each position is in one pair at most.

    Messages with one id are a pair wherever they are. Other pairs have one kind, author kind and tools, and do not
    cross each other.
    """
    positions = {content.id: position for position, content in enumerate(left)}
    by_id = [(positions[content.id], j) for j, content in enumerate(right) if content.id in positions]
    paired_left, paired_right = {i for i, _ in by_id}, {j for _, j in by_id}
    rest_left = [i for i in range(len(left)) if i not in paired_left]
    rest_right = [j for j in range(len(right)) if j not in paired_right]
    by_content = _pair_by_content([left[i] for i in rest_left], [right[j] for j in rest_right])
    return sorted([*by_id, *((rest_left[i], rest_right[j]) for i, j in by_content)])


def similarity(left: Content, right: Content) -> float:
    """Return how similar two messages are, from 0 to 1; 0 if they cannot be a pair."""
    if left.group != right.group:
        return 0.0
    if left.lines == right.lines:
        return 1.0
    total = len(left.words) + len(right.words)
    return 0.999 * 2 * len(left.words & right.words) / total if total else 0.0


def _pair_by_content(left: Sequence[Content], right: Sequence[Content]) -> Iterator[Pair]:
    """Pair equal messages in order, as difflib finds them, and those between them with the most similar ones ahead."""
    numbers: dict[tuple[Hashable, tuple[str, ...]], int] = {}  # of equal contents
    one, two = (
        [numbers.setdefault((content.group, content.lines), len(numbers)) for content in side] for side in (left, right)
    )
    before_left = before_right = 0
    for i, j, size in SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks():
        for position in range(before_left, i):
            near = range(before_right, min(j, before_right + _AHEAD))
            best = max(near, key=lambda other: (similarity(left[position], right[other]), -other), default=None)
            if best is not None and similarity(left[position], right[best]) >= MIN_SIMILARITY:
                yield position, best
                before_right = best + 1
        yield from ((i + n, j + n) for n in range(size))
        before_left, before_right = i + size, j + size


def _content_lines(message: Message) -> Iterator[str]:
    """Yield the lines of texts, and the fields of other parts: `tool_call input: {"command": "make"}`."""
    for part in message.parts:
        fields = {"": part.text} if part.type == "text" else part.fields
        for name, value in fields.items():
            if name not in _OMITTED:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
                yield from (f"{part.type} {name}: {text}" if name else text).splitlines()
    if message.payload is not None:
        yield from json.dumps(dict(message.payload), ensure_ascii=False, sort_keys=True, indent=1).splitlines()


MAX_LINES = 2000  # of each text; difflib needs up to the square of their number


def diff_lines(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Return a unified diff without its first two lines.

    The last line says so if the texts were not compared to the end.
    """
    lines = tuple(islice(unified_diff(old[:MAX_LINES], new[:MAX_LINES], lineterm=""), 2, None))
    if max(len(old), len(new)) > MAX_LINES:
        lines += (f"@@ only the first {MAX_LINES:,} lines were compared @@",)
    return lines


Mark: TypeAlias = Literal["=", "!", "<", ">"]
_STATUS: Mapping[Mark, str] = {"=": "equal", "!": "changed", "<": "only-old", ">": "only-new"}
_HINT = "for example: scopes diff --range main fix@{1} fix"


class RangeSide(NamedTuple):
    """One of the two ranges: its name, the conversation, and the commit of the tip whose messages are compared."""

    name: str
    conversation: ConversationId
    oid: Oid
    messages: int


class NumberedMessage(NamedTuple):
    """A message, its number in its range, counted from 1, and its first line or tool call."""

    number: int
    head: MessageHeader
    subject: str
    message: Message
    content: Content

    def document(self) -> dict[str, object]:
        """Return the message as a JSON object with its number."""
        return {"number": self.number, **self.head.document(), "subject": self.subject}


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePair:
    """A row: a message of both ranges (`=` or `!` if it changed), of the old one (`<`) or of the new one (`>`).

    `similarity` is from 0 to 1, and None for a message of one range; `lines` are a unified diff of the content.
    """

    old: NumberedMessage | None = None
    new: NumberedMessage | None = None
    equal: bool = field(default=False, metadata=HIDDEN)
    similarity: float | None = None
    lines: tuple[str, ...] = field(default=(), metadata=named("diff") | OMIT_EMPTY)

    @property
    @shown
    def status(self) -> str:
        """The mark as a word."""
        return _STATUS[self.mark]

    @property
    @shown
    def mark(self) -> Mark:
        """The mark of the row, as in git."""
        if self.new is None:
            return "<"
        if self.old is None:
            return ">"
        return "=" if self.equal else "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDifference(Result):
    """The messages of two ranges in the order of the new one, with those of the old one where they were."""

    kind = "range-diff"
    rows_in = "pairs"

    old: RangeSide
    new: RangeSide
    pairs: tuple[RangePair, ...]

    @property
    @shown
    def equal(self) -> bool:
        """All messages of both ranges are the same."""
        return all(pair.equal for pair in self.pairs)

    @property
    @shown
    def counts(self) -> dict[str, int]:
        """The number of pairs by status."""
        found = Counter(pair.status for pair in self.pairs)
        return {status.replace("-", "_"): found[status] for status in _STATUS.values()}

    @property
    def exit_code(self) -> int:
        """1 if a message differs or is in one range only, otherwise 0, as for `diff`."""
        return 0 if self.equal else 1


def range_diff(
    repository: Repository, names: Sequence[str], *, conversation: str | None = None, patch: bool = True
) -> RangeDifference:
    """Compare two ranges of messages: `A B` or `A...B`, `BASE A B`, or `A..B C..D`, as in git.

    conversation: where the names are looked up first; without it the first one is looked up in the whole store.
    patch: also return the differing lines of each changed message.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Invalid: the names are not one of these forms.
    """
    (old_side, old), (new_side, new) = (
        _read_range(repository, *each) for each in _resolve_ranges(repository, names, conversation)
    )
    matches = dict(pair_messages([each.content for each in old], [each.content for each in new]))
    return RangeDifference(old=old_side, new=new_side, pairs=tuple(_rows(old, new, matches, patch=patch)))


def _resolve_ranges(
    repository: Repository, names: Sequence[str], conversation: str | None
) -> list[tuple[str, Revision, Revision]]:
    """Return the name, the start and the tip of both ranges."""
    within = None if conversation is None else resolve_conversation(repository, conversation)

    def resolve(name: str) -> Revision:
        """Resolve a name in the conversation that was named, or else in that of the first name."""
        nonlocal within
        found = (
            resolve_revision(repository, name)
            if within is None
            else resolve_revision_anywhere(repository, name or within, within)
        )
        within = within or found.conversation
        return found

    texts = names[0].split("...", 1) if len(names) == 1 and "..." in names[0] else list(names)
    are_ranges = [".." in text for text in texts]
    if len(texts) == 2 and not any(are_ranges):  # what only A reaches, and what only B reaches
        pairs = [texts[::-1], texts]
    elif len(texts) == 3 and not any(are_ranges):
        pairs = [texts[:2], texts[::2]]
    elif len(texts) == 2 and all(are_ranges) and not any("..." in text for text in texts):
        pairs = [text.split("..", 1) for text in texts]
    else:
        raise Invalid("name two versions: A B, A...B, BASE A B, or A..B C..D", hint=_HINT)
    found = {text: resolve(text) for text in (pairs[0] + pairs[1] if all(are_ranges) else texts)}
    shown = {text: text or revision.conversation for text, revision in found.items()}
    return [(f"{shown[start]}..{shown[tip]}", found[start], found[tip]) for start, tip in pairs]


def _read_range(
    repository: Repository, name: str, start: Revision, tip: Revision
) -> tuple[RangeSide, list[NumberedMessage]]:
    """Read the messages of a range, oldest first, without those of merges."""
    bases = list_merge_bases(repository, tip.oid, start.oid)
    commits = list_new_commits(repository, tip.oid, start.oid, bases)
    found: list[NumberedMessage] = []
    for number, head in enumerate(_messages_by_id(each for each in commits if len(each.parents) < 2).values(), 1):
        message = read_body(repository, head)
        subject = subject_of(head, message)
        text = (summarize_calls(message) or subject) if subject == NO_TEXT else subject
        found.append(NumberedMessage(number, head, text, message, read_content(message)))
    return RangeSide(name, tip.conversation, tip.oid, len(found)), found


def _rows(
    old: Sequence[NumberedMessage], new: Sequence[NumberedMessage], matches: Mapping[int, int], *, patch: bool
) -> Iterator[RangePair]:
    """Yield the rows in the order of git: an old message without a pair comes after those before it."""
    partner = {j: i for i, j in matches.items()}
    shown: set[int] = set()
    i = j = 0
    while i < len(old) or j < len(new):
        while i in shown:
            i += 1
        if i < len(old) and i not in matches:
            yield RangePair(old=old[i])
            i += 1
        elif j < len(new) and j not in partner:
            yield RangePair(new=new[j])
            j += 1
        elif j < len(new):
            yield _compare(old[partner[j]], new[j], patch=patch)
            shown.add(partner[j])
            j += 1


def _compare(old: NumberedMessage, new: NumberedMessage, *, patch: bool) -> RangePair:
    same_id = old.head.id == new.head.id
    equal = content_of(old.message) == content_of(new.message) if same_id else old.content.lines == new.content.lines
    return RangePair(
        old=old,
        new=new,
        equal=equal,
        similarity=1.0 if equal else round(similarity(old.content, new.content), 4),
        lines=() if equal or not patch else diff_lines(old.content.lines, new.content.lines),
    )
