"""Another message that is nothing but a short text of what is purged, such as a password, is named as a copy."""

from __future__ import annotations

import pytest

from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.history import history, say

KEY = "Xk9mQ2rpL7zv"


def copies_of(repository, places, request):
    """Return the messages that a purge names as copies, as its plan does; nothing is left."""
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    assert (done.left, done.copies, done.alike, done.notes) == ((), plan.copies, plan.alike, plan.notes)
    return [each.message for each in done.copies]


@pytest.mark.every_case("each is another text that has no line to look for")
@pytest.mark.parametrize("text", [KEY, "12345678", "user: ann\npw: Xk9mQ2rp", "correcthorse"])
def test_a_message_that_is_nothing_but_it(repository, places, text):
    made, other = history(repository, "main: a"), history(repository, "main: b").conversation
    message = say(repository, made.conversation, text)
    copies = [say(repository, each, f" {text}\n").id for each in (other, made.conversation)]
    for more in (f"the words {text} are in it", f"{text}.", text[:-1]):
        say(repository, other, more)
    request = PurgeRequest(conversation=made.conversation, messages=(message.id,))
    assert sorted(copies_of(repository, places, request)) == sorted(copies)


def test_of_a_purged_conversation(repository, places):
    made, other = history(repository, f"main: a {KEY}"), history(repository, "main: b").conversation
    say(repository, made.conversation, "the first of the long lines of it")
    copies = [say(repository, other, KEY).id, say(repository, other, "you said: the first of the long lines of it").id]
    assert sorted(copies_of(repository, places, PurgeRequest((made.conversation,)))) == sorted(copies)


@pytest.mark.parametrize("text", ["ok", "go on", "[1] 42"])
def test_shorter_texts_are_what_everybody_says(repository, places, text):
    made, other = history(repository, "main: a"), history(repository, "main: b").conversation
    message = say(repository, made.conversation, text)
    say(repository, other, text)
    assert copies_of(repository, places, PurgeRequest(conversation=made.conversation, messages=(message.id,))) == []
