"""A session that goes on after its conversation was purged, or is a copy of one: what was purged of it stays out.

What `scopes acp` records again is a new conversation, to which only what came after belongs. A session that begins like
a conversation which is here may be a copy of another one, which began like it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scopes.errors import CannotImport
from scopes.history.messages import is_root, message_id_of
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.history.sources import Purged, hash_of, name_of_answer, name_of_live_session
from scopes.ids import MessageId
from scopes.importers.beginning import MAX_ANSWERS, walk_answers
from scopes.importers.formats.events import Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.listed_sessions import STAYS_OUT
from scopes.importers.live_records import find_live_branch, find_what_came_after
from scopes.importers.purged_parts import LEFT_OUT
from scopes.importers.results import GroupedNote
from scopes.importers.run_state import ImportRun
from scopes.importers.streams import take_session
from scopes.importers.targets import TargetMatch, may_be_recorded
from scopes.model.conversation import ACP
from scopes.result import plural
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository

_SEVERAL: Final = "{} sessions are taken without what was purged before"
_ABOUT_ALL: Final = ("title", "summary")  # in the key of a record that tells what a whole session is about


def without_purged(
    run: ImportRun, session: Session, match: TargetMatch, events: Iterator[Event], *, is_purged: bool
) -> tuple[Session, Iterator[Event]]:
    """Return a session and its events without those of a purged conversation.

    is_purged: it begins like one

    Raises:
        CannotImport: they cannot be told from the others, or it is a copy of that conversation.
    """
    target = match.target
    if not run.purged.conversations or target.conversation is None or session.sub_file is not None:
        return session, events
    is_listed = run.listed.is_listed(session)
    if _is_recorded(session, match) and (is_listed or is_purged) and not run.listed.is_whole(session, target):
        if not is_listed:  # what is imported of it later begins like this, too
            run.grown = run.grown.join(Purged({}, frozenset({hash_of(name_of_live_session(session.native_id))})))
        return _take_what_came_after(run, session, match, list(take_session(events)))
    if run.listed.is_of(session, target):
        return session, events
    own = list(take_session(events))
    _refuse_copy(run, match, own)
    return session, iter(own)


def _is_recorded(session: Session, match: TargetMatch) -> bool:
    is_new = match.joined is None and match.parent is None
    return is_new and match.target.document.format == ACP and may_be_recorded(session)


def _take_what_came_after(
    run: ImportRun, session: Session, match: TargetMatch, events: Sequence[Event]
) -> tuple[Session, Iterator[Event]]:
    conversation = match.target.conversation
    recorded = None if conversation is None else find_live_branch(run.repository, conversation, session)
    kept = None if recorded is None else find_what_came_after(recorded, events, run.purged)
    if kept is None:
        raise CannotImport(
            f"its conversation was purged, and it does not have the first prompt of {conversation}, which came after",
            hint=STAYS_OUT,
        )
    drafts = [event for event in events if isinstance(event, Draft)]
    count = sum(draft.key not in kept for draft in drafts)
    if not count:
        return session, iter(events)
    begin = min(span.offset for draft in drafts if draft.key in kept for span in draft.spans)
    for draft in drafts:
        if draft.key not in kept:
            run.quotes.add_parts(draft.parts, None)
    _list_answers(run, [event for event in events if not isinstance(event, Draft) or event.key not in kept])
    text = f"session {session.native_id}: {count} {plural(count, 'message')} of it were purged with their conversation"
    run.notes.append(GroupedNote(text, _SEVERAL, f"{conversation} has what came after"))
    return replace(session, title=None), (_leave_out(event, kept, begin) for event in events)


def _list_answers(run: ImportRun, left_out: Sequence[Event]) -> None:
    """Put the first answers that are left out on the list of what was purged: a copy of the session has them, too.

    Those that a conversation has which is here are not listed: what begins with them may be a copy of that one.
    """
    answers = [(answer, proofs) for answer, proofs in walk_answers(left_out) if proofs]
    names = [[name_of_answer(proof) for proof in proofs] for _, proofs in answers]
    if not names or any(run.purged.has_conversation(name) for found in names for name in found):
        return
    here = _list_messages(run.repository)
    own = [found for (answer, _), found in zip(answers, names, strict=True) if answer not in here][:MAX_ANSWERS]
    listed = Purged({}, frozenset(hash_of(name) for found in own for name in found))
    run.purged, run.grown = run.purged.join(listed), run.grown.join(listed)


def _list_messages(repository: Repository) -> set[MessageId]:
    tips = [tip for name in conversation_ids(repository) for tip in list_branch_tips(repository, name).values()]
    return {message_id_of(commit) for commit in walk_newest_first(repository, tips) if not is_root(commit)}


def _leave_out(event: Event, kept: set[str], begin: int) -> Event:
    """Return a record that is blanked for what was purged, or may tell of it; the kept messages begin at an offset."""
    match event:
        case Draft() if event.key not in kept:
            return SessionRecord(key=LEFT_OUT, spans=event.spans)
        case Draft() if event.parent is not None and event.parent not in kept:
            return event._replace(parent=None)
        case SessionRecord() if any(word in event.key for word in _ABOUT_ALL):
            return SessionRecord(key=LEFT_OUT, spans=event.spans)
        case SessionRecord() | Unparsed() if any(span.offset < begin for span in event.spans):
            return SessionRecord(key=LEFT_OUT, spans=event.spans)
        case Ending():
            return replace(event, title=None)
    return event


def _refuse_copy(run: ImportRun, match: TargetMatch, events: Sequence[Event]) -> None:
    """Raise if a session has answers that only a purged conversation had, and not the one that it would go to.

    Raises:
        CannotImport: it has.
    """
    known = match.target.known.commits
    for answer, proofs in walk_answers(events):
        is_purged = any(run.purged.has_conversation(name_of_answer(proof)) for proof in proofs)
        if is_purged and not any(identity == answer for identity, _ in known):
            raise CannotImport("it has messages of a conversation that was purged", hint=STAYS_OUT)
