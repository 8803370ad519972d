"""Find the conversations whose last message was written before a time, to purge them.

The age of a conversation is that of its newest message or merge; one whose last message has no time is never old.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from scopes.clock import known_seconds, parse_time
from scopes.history.handles import list_tips_by_time
from scopes.history.messages import (
    OWN_ADDRESS,
    RecordedTimes,
    header_of,
    is_root,
    read_body,
    walk_headers_newest_first,
)
from scopes.history.names import conversation_ids
from scopes.ids import ConversationId
from scopes.result import Note, plural
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository


def list_older(repository: Repository, cutoff: int) -> tuple[list[ConversationId], tuple[Note, ...]]:
    """Return the conversations without a message after a time, in seconds since 1970, the oldest first; and notes."""
    times = RecordedTimes(repository)
    found, without_time = list[tuple[int, ConversationId]](), list[ConversationId]()
    for conversation in conversation_ids(repository):
        newest = _find_newest(repository, conversation, times)
        if newest is None:
            without_time.append(conversation)
        elif newest < cutoff and not _has_newer(repository, conversation, times, cutoff):
            found.append((newest, conversation))
    return [conversation for _, conversation in sorted(found)], _note_without_time(without_time)


def _find_newest(repository: Repository, conversation: ConversationId, times: RecordedTimes) -> int | None:
    """Return when the last messages of the branches were written; None if that is not known of one of them.

    The commit of a message without a time has that of the message before it, which may be years older. A merge has the
    time of what it merged: it counts as written when it was made here, or else as old as that.
    """
    newest = []
    waiting = list_tips_by_time(repository, conversation)
    seen = set(waiting)
    while waiting:
        commit = read_commit(repository, waiting.pop())
        recorded = times.add_to(header_of(commit)).recorded
        if recorded is not None:
            newest.append(recorded)
        elif commit.author.email == OWN_ADDRESS and commit.parents:
            waiting += [parent for parent in commit.parents if parent not in seen]
            seen.update(commit.parents)
        elif known_seconds(commit.time) is None or not _has_time(repository, commit):
            return None
        else:
            newest.append(commit.time)
    return max(newest)


def _has_time(repository: Repository, commit: Commit) -> bool:
    """Return False for a message that was imported without a time."""
    if is_root(commit) or commit.message_id is None:
        return True
    time = read_body(repository, commit).time
    return time is not None and parse_time(time) is not None


def _has_newer(repository: Repository, conversation: ConversationId, times: RecordedTimes, cutoff: int) -> bool:
    """Return True if a message was written after a time; one that was copied on top of it by a rebase may be older."""
    heads = walk_headers_newest_first(repository, list_tips_by_time(repository, conversation))
    return any(max(head.time, times.add_to(head).recorded or 0) >= cutoff for head in heads)


def _note_without_time(found: Sequence[ConversationId]) -> tuple[Note, ...]:
    """Return a note about conversations of unknown age: their last messages were imported without times."""
    if not found:
        return ()
    count = len(found)
    verbs = "ends without a time and never expires" if count == 1 else "end without a time and never expire"
    return (
        Note(
            f"{count} {plural(count, 'conversation')} {verbs}",
            f"purge one by its name: scopes purge {quote(found[0])} --whole",
        ),
    )
