"""Summaries as messages: what they cover, whether they still hold, and that a failure stores nothing."""

from __future__ import annotations

import pytest

from scopes.conversation.amend import amend, retract
from scopes.conversation.heads import read_message
from scopes.conversation.log import log
from scopes.conversation.lookup import branch_tips
from scopes.errors import Invalid, NotFound, Refused
from scopes.memory.compact import compact
from scopes.memory.summarize import list_summaries, source_ids, summarize
from scopes.store.config import Setting
from scopes.store.repository import Caller, open_repository
from tests.conversation.stores import FAST, git
from tests.memory.talking import CONVERSATION, decide, say

TALK = ("The login form fails on Safari.", "Safari blocks the cookie of the login form.", "Lunch was pasta.")


def with_summarizer(repository, command, origin="flag"):
    """Open the store again, with a command to write summaries."""
    setting = Setting("scopes.summarizer", command, origin)
    return open_repository(repository.path, FAST | {"scopes.summarizer": setting}, Caller("carol", "test"))


def texts(repository):
    """Every text of main, oldest first."""
    return [entry.message.text for entry in log(repository, CONVERSATION, oldest_first=True).items]


def test_a_summary_is_a_message_that_names_its_sources(repository):
    ids = say(repository, *TALK)
    tip = branch_tips(repository, CONVERSATION)["main"]
    done = summarize(repository, CONVERSATION, ratio=0.1)
    message = read_message(repository, done.oid)
    assert (message.kind, message.author, message.text) == ("summary", ("scopes", "system"), TALK[0])
    assert message.extra == {"summarizes": {"messages": ids, "tip": tip}, "ratio": 0.1, "method": "textrank"}
    assert (done.messages, done.compact) == (3, False)


def test_the_next_summary_covers_only_what_is_new(repository):
    say(repository, *TALK)
    summarize(repository, CONVERSATION)
    (new,) = say(repository, "The database needs an index.")
    second = summarize(repository, CONVERSATION)
    assert source_ids(read_message(repository, second.oid).extra["summarizes"]) == [new]
    assert summarize(repository, CONVERSATION, every=True).messages == 4


def test_there_is_nothing_to_summarize_twice(repository):
    with pytest.raises(Refused, match="nothing was said on conv-001/main"):
        summarize(repository, CONVERSATION)
    say(repository, "One thing.")
    summarize(repository, CONVERSATION)
    with pytest.raises(Refused):
        summarize(repository, CONVERSATION)


def test_what_programs_put_in_is_not_summarized(repository):
    for kind in ("system", "tool-results", "notice", "meta"):
        say(repository, "Machine words of the login form.", kind=kind)
    say(repository, "An injected reminder.", author_kind="injected")
    (only,) = say(repository, "Said by somebody.")
    done = summarize(repository, CONVERSATION)
    assert source_ids(read_message(repository, done.oid).extra["summarizes"]) == [only]


def test_an_amended_message_counts_by_its_new_text_and_a_retracted_one_not(repository):
    first, second = say(repository, "It is port 80.", "Forget this.")
    amend(repository, CONVERSATION, first, "It is port 8080.", author="planner")
    retract(repository, CONVERSATION, second, "", author="planner")
    assert summarize(repository, CONVERSATION, ratio=1.0).text == "It is port 8080."


def test_a_summary_is_stale_once_its_sources_changed(repository):
    first, second, _ = say(repository, *TALK)
    summarize(repository, CONVERSATION)
    assert list_summaries(repository, CONVERSATION).summaries[0].changed == ()
    amend(repository, CONVERSATION, first, "It fails on Firefox.", author="planner")
    retract(repository, CONVERSATION, second, "", author="planner")
    listed = list_summaries(repository, CONVERSATION)
    assert set(listed.summaries[0].changed) == {first, second}
    assert listed.uncovered == 1
    summarize(repository, CONVERSATION, every=True)
    assert [bool(row.changed) for row in list_summaries(repository, CONVERSATION).summaries] == [False, True]


def test_a_dry_run_stores_nothing(repository):
    say(repository, *TALK)
    done = summarize(repository, CONVERSATION, dry_run=True)
    assert (done.id, done.oid, len(texts(repository))) == (None, None, 3)
    assert done.text


@pytest.mark.parametrize("ratio", [0, -0.5, 1.01, float("nan"), float("inf")])
def test_a_ratio_is_a_share(repository, ratio):
    with pytest.raises(Invalid, match="the ratio is"):
        summarize(repository, CONVERSATION, ratio=ratio)


def test_a_compaction_is_where_a_context_begins_and_the_long_form_stays(repository):
    say(repository, *TALK)
    done = compact(repository, CONVERSATION, ratio=0.1)
    message = read_message(repository, done.oid)
    assert (message.kind, message.extra["context_root"]) == ("compaction", True)
    assert texts(repository) == [*TALK, TALK[0]]
    with pytest.raises(Refused):
        compact(repository, CONVERSATION)


def test_the_users_own_command_writes_the_summary(repository):
    say(repository, *TALK)
    mine = with_summarizer(repository, "echo shorter")
    message = read_message(mine, summarize(mine, CONVERSATION).oid)
    assert (message.text, message.author.name, message.extra["method"]) == ("shorter", "echo", "command")
    decide(repository, "db", "SQLite")
    assert summarize(mine, CONVERSATION, built_in=True).method == "textrank"


def test_a_command_that_fails_stores_nothing(repository):
    say(repository, *TALK)
    before = branch_tips(repository, CONVERSATION)
    for command in ("false", "true", "yes"):
        with pytest.raises(Refused, match="nothing was stored"):
            summarize(with_summarizer(repository, command), CONVERSATION)
    assert branch_tips(repository, CONVERSATION) == before


def test_a_store_or_the_environment_cannot_name_the_command(repository):
    """A store may come from somebody else."""
    say(repository, *TALK)
    git(repository, "config", "scopes.summarizer", "echo evil")
    opened = with_summarizer(repository, "echo evil", origin="environment")
    assert summarize(opened, CONVERSATION).method == "textrank"


def test_another_branch_is_named_as_everywhere(repository):
    say(repository, *TALK)
    with pytest.raises(NotFound):
        summarize(repository, "conv-001/nowhere")
    assert summarize(repository, "conv-001/main").branch == "main"


@pytest.mark.parametrize("value", [None, {}, {"messages": "x"}, []])
def test_a_summary_of_somebody_else_may_name_no_sources(value):
    assert source_ids(value) == []
