"""Note answers of the user that a rebase or cherry-pick puts beside other ones to the same question.

Answers are no claims: a replay, which compares message by message, does not stop for them as a merge does.
"""

from __future__ import annotations

from collections.abc import Collection

from scopes.history.revisions import find_directory
from scopes.ids import ConversationId, MessageId, Oid
from scopes.merge.conflict_keys import decoded_key
from scopes.merge.divergence import find_divergence
from scopes.merge.recorded_work import RecordedWork
from scopes.result import Note
from scopes.sanitize import clip
from scopes.store.objects import one_line
from scopes.store.repository import Objects, Repository

_MAX_NAMED = 5
_MAX_TEXT = 100


def note_contradicting_answers(
    repository: Repository,
    objects: Objects,
    conversation: ConversationId,
    sides: tuple[Oid, Oid],
    replayed: Collection[MessageId],
) -> tuple[Note, ...]:
    """Return a note for each question that the user answered differently on the target and in a replayed message.

    `sides` are the tips of the target and of what is replayed.
    """
    directory = find_directory(repository, conversation)
    divergence = find_divergence(repository, objects, *sides, directory=directory, unrelated=True)
    if divergence is None:
        return ()
    found = RecordedWork(repository, objects, divergence, (conversation,)).find_answer_conflicts()
    conflicts = [conflict for _, conflict in found if any(each.message in replayed for each in conflict.source)]
    hint = "a merge stops for such answers: scopes merge; to take this back: scopes undo"
    notes = []
    for conflict in conflicts[:_MAX_NAMED]:
        values = (" | ".join(str(each.value) for each in side) for side in (conflict.target, conflict.source))
        target, source = (clip(one_line(value), _MAX_TEXT) for value in values)
        question = clip(one_line(decoded_key(conflict.key).partition("/")[2]), _MAX_TEXT)
        notes.append(Note(f"two answers to one question, {question!a}: {target!a} before, {source!a} replayed", hint))
    if len(conflicts) > _MAX_NAMED:
        notes.append(Note(f"{len(conflicts) - _MAX_NAMED} more questions with two answers", hint))
    return tuple(notes)
