"""Find the messages of a session that `scopes acp` has recorded already, so that an import adds only what is missing.

Both have the same prompts, in the same words. The rest of a turn differs: a transcript has tool results, notices and
reasoning of its own, so messages are compared by turn. Where a recorded turn has ended, the whole turn of the
transcript is known; where its recording was interrupted, what it lacks is added after it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scopes.history.messages import is_root, read_body
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.history.sources import Purged
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.importers.conversation_roots import LiveSession, list_conversation_roots
from scopes.importers.formats.events import Draft, Ending, Event, Session
from scopes.importers.results import Skipped
from scopes.importers.session_commits import OPEN, Recorded, find_own_words
from scopes.importers.source_queue import QueuedSource
from scopes.model.conversation import ACP
from scopes.model.message import Message, Part
from scopes.store.graph import walk_first_parents
from scopes.store.locks import DIRECTORY, is_file_locked, session_lock_path
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_NOT_WHOLE: Final = frozenset({"interrupted", "failed"})


class LiveBranch(NamedTuple):
    """The branch on which a session was recorded, at its tip, with its messages, oldest first."""

    name: BranchName
    tip: Oid
    messages: list[tuple[Oid, Message]]

    @property
    def end(self) -> Oid:
        """Return the last message that stays: the import replaces what was open at the end of a transcript."""
        return next((oid for oid, message in reversed(self.messages) if OPEN not in message.extra), self.tip)

    def ids(self) -> set[MessageId]:
        """Return the ids of the messages."""
        return {message.id for _, message in self.messages}


class _Turn(NamedTuple):
    """A recorded prompt with what follows it; `words` is None if they were purged.

    purged: the ids of purged messages, which no longer say who wrote them
    """

    words: str | None
    messages: list[tuple[Oid, Message]]
    purged: set[MessageId]

    @property
    def recorded(self) -> list[tuple[Oid, Message]]:
        """Return the messages that were recorded live; others were imported, and are found by their ids."""
        return [each for each in self.messages if self.words is None or self._is_recorded(each[1])]

    def _is_recorded(self, message: Message) -> bool:
        return ACP in message.extra or message.id in self.purged

    @property
    def is_whole(self) -> bool:
        """Return True if its end was recorded."""
        return len(self.recorded) > 1 and not any(each.status in _NOT_WHOLE for _, each in self.recorded)


def drop_open(
    repository: Repository, queue: Sequence[QueuedSource], skipped: list[Skipped], index_directory: str | None
) -> list[QueuedSource]:
    """Return the queue without sessions that a running `scopes acp` records; those are added to `skipped`.

    What is missing of one is known only when its recording has ended.
    """
    if not os.path.isdir(os.path.join(repository.path, DIRECTORY)):
        return list(queue)
    kept: list[QueuedSource] = []
    recorded = list_conversation_roots(repository, index_directory).by_live_session
    for queued in queue:
        session = queued.session
        live = [each for each in recorded.get(session.native_id, ()) if each.may_be(session)]
        paths = (session_lock_path(repository.path, (each.agent, session.native_id)) for each in live)
        if any(map(is_file_locked, paths)):
            reason = f"scopes acp is recording session {session.native_id}"
            skipped.append(Skipped(path=queued.source.path, reason=reason, named=queued.source.named))
        else:
            kept.append(queued)
    return kept


def find_live_branch(repository: Repository, conversation: ConversationId, session: Session) -> LiveBranch | None:
    """Return the branch of a conversation on which a session was recorded live; None if there is none.

    It may be an earlier session of the branch, which a later one continued.
    """
    tips = list_branch_tips(repository, conversation)
    found: list[tuple[bool, BranchName]] = []
    for name, entry in read_metadata(repository, conversation).branches.items():
        recorded = entry.extra.get(ACP)
        if name in tips and isinstance(recorded, dict) and _is_of(recorded, session):
            found.append((recorded.get("session") != session.native_id, name))
    if not found:
        return None
    name = min(found)[1]
    messages = []
    for oid in walk_first_parents(repository, tips[name]):
        commit = read_commit(repository, oid)
        if is_root(commit):
            break
        messages.append((oid, read_body(repository, commit)))
    return LiveBranch(name, tips[name], messages[::-1])


def _is_of(recorded: Mapping[str, Any], session: Session) -> bool:
    stale = recorded.get("stale")
    ids = [recorded.get("session"), *(stale if isinstance(stale, list) else ())]
    agent, directory = recorded.get("agent"), recorded.get("cwd")
    is_there = LiveSession(Oid(""), str(agent), directory if isinstance(directory, str) else "").may_be(session)
    return session.native_id in ids and is_there


def find_known(branch: LiveBranch, events: Iterable[Event], purged: Purged) -> Recorded:
    """Return which drafts of a session are messages of the branch that recorded it."""
    line = _read_line(events)
    turns = _split(branch.messages, purged)
    starts = [place for place, draft in enumerate(line) if _is_prompt(draft)]
    words = [_words_of(line[place].parts) for place in starts]
    first, count = _best_place([turn.words for turn in turns], words)
    known: dict[str, tuple[MessageId, Oid]] = {}
    for number in range(count):
        turn = turns[first + number]
        begin = starts[number] if number else 0
        end = starts[number + 1] if number + 1 < len(starts) else len(line)
        if not turn.recorded:
            continue  # it was imported
        is_last = first + number + 1 == len(turns)
        known |= _match_turn(turn, line[begin:end], starts[number] - begin, is_open=is_last and not turn.is_whole)
    return known


def _match_turn(turn: _Turn, drafts: Sequence[Draft], prompt: int, *, is_open: bool) -> Recorded:
    """Return what the drafts of a turn are; of one whose recording was interrupted, as far as it has them.

    prompt: the place of the prompt; what is before it, such as instructions, belongs to it too.
    """
    (first, begin), (last, end) = turn.recorded[0], turn.recorded[-1]
    found = {draft.key: (begin.id, first) for draft in drafts[: prompt + 1]}
    rest = drafts[prompt + 1 :]
    if is_open:
        texts, calls = _contents(message for _, message in turn.recorded[1:])
        missing = (place for place, draft in enumerate(rest) if not _is_recorded(draft, texts, calls))
        rest = rest[: next(missing, len(rest))]
    found |= {draft.key: (end.id, last) for draft in rest}
    return found | {list(found)[-1]: (end.id, last)}  # what is missing follows all that was recorded


def _contents(messages: Iterable[Message]) -> tuple[str, set[Any]]:
    """Return the words and the ids of the calls of messages."""
    parts = [part for message in messages for part in message.parts]
    return _words_of(parts), {part.fields["call_id"] for part in parts if "call_id" in part.fields}


def _is_recorded(draft: Draft, texts: str, calls: Collection[Any]) -> bool:
    words = _words_of(draft.parts)
    own = [part.fields["call_id"] for part in draft.parts if "call_id" in part.fields]
    return bool(words or own) and words in texts and all(call in calls for call in own)


def _best_place(recorded: Sequence[str | None], words: Sequence[str]) -> tuple[int, int]:
    """Return at which recorded turn the session begins, and how many turns are equal from there on."""
    best = 0, 0
    for first in range(len(recorded)):
        pairs = zip(recorded[first:], words, strict=False)
        count = next((n for n, (ours, theirs) in enumerate(pairs) if ours not in {None, theirs}), None)
        count = min(len(recorded) - first, len(words)) if count is None else count
        if count > best[1]:
            best = first, count
    return best


def _split(messages: Iterable[tuple[Oid, Message]], purged: Purged) -> list[_Turn]:
    turns: list[_Turn] = []
    for oid, message in messages:
        if message.kind == "prompt" and message.author.kind == "human":
            words = None if purged.has_message(message.id) else _words_of(message.parts)
            turns.append(_Turn(words, [], set()))
        if turns:
            turns[-1].messages.append((oid, message))
            if purged.has_message(message.id):
                turns[-1].purged.add(message.id)
    return turns


def _read_line(events: Iterable[Event]) -> list[Draft]:
    """Return the drafts of the active line of a session, oldest first."""
    drafts: dict[str, Draft] = {}
    active: str | None = None
    for event in events:
        if isinstance(event, Draft):
            drafts[event.key] = event
        elif isinstance(event, Ending):
            active = event.active
            break
    key = active if active in drafts else next(reversed(drafts), None)
    line: list[Draft] = []
    while key is not None and key in drafts:
        line.append(drafts[key])
        key = drafts[key].parent
    return line[::-1]


def _is_prompt(draft: Draft) -> bool:
    return draft.kind == "prompt" and draft.author.kind == "human"


def _words_of(parts: Iterable[Part]) -> str:
    """Return the user's or agent's own words without blanks, which agents change."""
    own = find_own_words(parts).parts
    return "".join("".join(part.text.split()) for part in own if part.type == "text")
