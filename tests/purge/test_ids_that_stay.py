"""A purged message that is nothing but an id of something that stays: the id is a name of it, and no copy."""

from __future__ import annotations

import pytest

from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.history.handles import read_uuid
from scopes.history.names import resolve_revision
from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.purge.purge import continue_purge, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.history import history, say


def purge_text(repository, places, conversation, text):
    """Purge a message with a text; it is done, and says what the plan says."""
    message = say(repository, conversation, text)
    say(repository, conversation, "ok then")
    request = PurgeRequest(conversation=conversation, messages=(message.id,))
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    assert (done.left, done.exit_code) == ((), 0)
    assert (done.copies, done.alike, done.notes) == (plan.copies, plan.alike, plan.notes)
    with pytest.raises(NotFound, match="no purge was interrupted"):
        continue_purge(repository, places)
    assert verify(repository).exit_code == 0
    return done


@pytest.mark.every_case("each is the id of something else")
@pytest.mark.parametrize("what", ["message", "message elsewhere", "commit", "commit elsewhere", "uuid", "operation"])
def test_an_id_of_what_stays_is_neither_copied_nor_left(repository, places, what):
    made, other = history(repository, "main: a"), history(repository, "main: b").conversation
    last = say(repository, other, "c")
    text = {
        "message": made.ids["a"],
        "message elsewhere": last.id,
        "commit": made.oids["a"],
        "commit elsewhere": resolve_revision(repository, f"{other}/main").oid,
        "uuid": read_uuid(repository, other),
        "operation": last.operation,
    }[what]
    done = purge_text(repository, places, made.conversation, f"{text}\n")
    assert (done.copies, done.notes) == ((), ())


def test_the_memory_of_a_message_stays_whose_id_was_printed(repository, places):
    made = history(repository, "main: a")
    add_entry(repository, "Backups run at night", agent="bob")
    purge_text(repository, places, made.conversation, Memory(repository).entries[0].id)
    assert [each.summary for each in Memory(repository).entries] == ["Backups run at night"]


@pytest.mark.parametrize("text", ["ghp" + "a2b" * 7 + "cd", "0123456789abcdef" * 2 + "01234567"])
def test_what_only_looks_like_an_id_is_looked_for(repository, places, text):
    made, other = history(repository, "main: a"), history(repository, "main: b").conversation
    copy = say(repository, other, text)
    done = purge_text(repository, places, made.conversation, text)
    assert [each.message for each in done.copies] == [copy.id]


def test_the_id_of_what_goes_is_looked_for(repository, places):
    made, other = history(repository, "main: a"), history(repository, "main: b").conversation
    say(repository, made.conversation, made.ids["a"])
    copy = say(repository, other, f"see {made.ids['a']}")
    done = purge(repository, PurgeRequest((made.conversation,)), places)
    assert [each.message for each in done.copies] == [copy.id]
    assert done.left == ()
