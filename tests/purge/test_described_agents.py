"""What describes an agent, or a secret that may leave, stays without the text of what is purged, in all commits."""

from __future__ import annotations

import pytest

from scopes.agents.inbox import read_inbox
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.purge.purge import continue_purge, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.secrets.allow import allow
from scopes.secrets.allowed import read_allowed
from scopes.secrets.scan import scan
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.planted import KINDS

WORD = "QUARTZMARLIN"
LINE = f"reviews the {WORD} migrations"


def purge_line(repository, places, text=LINE):
    """Purge a message with a text; return the notes, which the plan has as well."""
    made = history(repository, "main: a")
    message = say(repository, made.conversation, text)
    request = PurgeRequest(conversation=made.conversation, messages=(message.id,))
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    assert (done.left, done.exit_code, done.copies, done.notes) == ((), 0, plan.copies, plan.notes)
    with pytest.raises(NotFound, match="no purge was interrupted"):
        continue_purge(repository, places)
    assert verify(repository).exit_code == 0
    return [(note.text, note.hint) for note in done.notes if "the same text" not in note.text]


def test_an_agent_stays_without_a_text_that_quotes(repository, places):
    register(repository, "reviewer", description=LINE, metadata={"about": f"It {LINE}.", "team": "red"})
    register(repository, "planner", description="plans")
    (note,) = purge_line(repository, places)
    assert note == (
        "1 registered agent loses a text that quotes it: reviewer",
        "describe it again: scopes agents register AGENT --description TEXT",
    )
    agent = Registry(repository).find("reviewer")
    assert (agent.description, agent.metadata) == ("[purged]", {"about": "[purged]", "team": "red"})
    assert Registry(repository).find("planner").description == "plans"
    assert find_word(WORD, repository.path) == []


def test_an_earlier_description_goes_and_does_not_come_back_by_undo(repository, places):
    register(repository, "reviewer", description=LINE)
    update(repository, "reviewer", AgentChanges(description="reviews"))
    assert purge_line(repository, places) == []
    assert Registry(repository).find("reviewer").description == "reviews"
    assert find_word(WORD, repository.path) == []
    update(repository, "reviewer", AgentChanges(description="other"))
    undo(repository)
    assert Registry(repository).find("reviewer").description == "reviews"


@pytest.mark.every_case("each is another name")
@pytest.mark.parametrize("text", ["quartzmarlin-reviewer", "database-migrations", "schema-of-the-shop", "reviewer"])
def test_the_names_of_an_agent_its_capabilities_and_what_it_depends_on_stay(repository, places, text):
    register(
        repository,
        "quartzmarlin-reviewer",
        description="a reviewer of code",
        capabilities=["database-migrations"],
        dependencies=["schema-of-the-shop"],
    )
    before = Registry(repository).find("1")
    assert purge_line(repository, places, text) == []
    assert Registry(repository).find("1") == before


def test_the_inbox_of_an_agent_stays(repository, places):
    made = history(repository, "main: b")
    sender = "quartzmarlin-reviewer"
    for name in ("planner", sender):
        register(repository, name)
    sent = send(StoreHandle(repository).branch(made.conversation), plain_message(sender, "please look"), ("planner",))
    assert purge_line(repository, places, sender) == []
    assert [each.entry.message for each in read_inbox(repository, "planner").messages] == [sent.message]


def test_a_reason_why_a_secret_may_leave_goes(repository, places, tmp_path):
    made = history(repository, "main: b")
    say(repository, made.conversation, f"the token is {KINDS[1][1]} as you know")
    (row,) = scan(repository, index_directory=str(tmp_path / "index")).secrets
    allow(repository, row.id, index_directory=str(tmp_path / "index"), reason=LINE)
    (note,) = purge_line(repository, places)
    assert note[0].startswith("1 allowed secret loses its reason, which quotes it: ")
    assert [each.reason for each in read_allowed(repository).values()] == ["[purged]"]
    assert find_word(WORD, repository.path) == []
