"""Summaries as messages: what they cover, whether they still hold, and that a failure stores nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.amend import amend, retract
from scopes.conversation.append import plain_message
from scopes.conversation.branch import branch
from scopes.conversation.cat import cat
from scopes.conversation.heads import read_message
from scopes.conversation.log import LogFilter, log
from scopes.conversation.lookup import branch_tips
from scopes.conversation.show import show
from scopes.errors import Invalid, NotFound, Refused
from scopes.memory.compact import compact
from scopes.memory.covered import Said
from scopes.memory.summaries import list_summaries, source_ids
from scopes.memory.summarize import summarize
from scopes.memory.summarizer import summarize_built_in
from scopes.store.config import Setting
from scopes.store.repository import Caller, open_repository
from tests.conversation.stores import FAST, git
from tests.memory.talking import CONVERSATION, decide, say, words

TALK = ("The login form fails on Safari.", "Safari blocks the cookie of the login form.", "Lunch was pasta.")


def with_summarizer(repository, command, origin="flag"):
    """Open the store again, with a command to write summaries."""
    setting = Setting("scopes.summarizer", command, origin)
    return open_repository(repository.path, FAST | {"scopes.summarizer": setting}, Caller("carol", "test"))


def texts(repository):
    """Every text of main, oldest first."""
    return [entry.message.text for entry in log(repository, CONVERSATION, oldest_first=True).items]


def test_a_summary_is_a_message_that_names_its_sources(repository):
    """S4-45."""
    ids = say(repository, *TALK)
    tip = branch_tips(repository, CONVERSATION)["main"]
    done = summarize(repository, CONVERSATION, words, ratio=0.4)
    message = read_message(repository, done.oid)
    assert (message.kind, message.author, message.text) == ("summary", ("scopes", "system"), TALK[0])
    assert message.extra == {
        "summarizes": {"branch": "main", "messages": ids, "tip": tip},
        "original_tokens": 17, "summary_tokens": 6, "ratio": 0.3529, "method": "textrank",
    }  # fmt: skip
    assert (done.messages, done.compact) == (3, False)


def test_the_next_summary_covers_only_what_is_new(repository):
    say(repository, *TALK)
    summarize(repository, CONVERSATION, words)
    (new,) = say(repository, "The database needs an index.")
    second = summarize(repository, CONVERSATION, words)
    assert source_ids(read_message(repository, second.oid).extra["summarizes"]) == [new]
    assert summarize(repository, CONVERSATION, words, every=True).messages == 4


def test_there_is_nothing_to_summarize_twice(repository):
    with pytest.raises(Refused, match="nothing was said on conv-001/main"):
        summarize(repository, CONVERSATION, words)
    say(repository, "One thing.")
    summarize(repository, CONVERSATION, words)
    with pytest.raises(Refused):
        summarize(repository, CONVERSATION, words)


def test_of_code_alone_there_is_no_summary(repository):
    say(repository, "```\nx = 1\n```")
    with pytest.raises(Refused, match="nothing but code"):
        summarize(repository, CONVERSATION, words)
    assert len(texts(repository)) == 1


def test_what_programs_put_in_is_not_summarized(repository):
    for kind in ("system", "tool-results", "notice", "meta"):
        say(repository, "Machine words of the login form.", kind=kind)
    say(repository, "An injected reminder.", author_kind="injected")
    (only,) = say(repository, "Said by somebody.")
    done = summarize(repository, CONVERSATION, words)
    assert source_ids(read_message(repository, done.oid).extra["summarizes"]) == [only]


def test_an_amended_message_counts_by_its_new_text_and_a_retracted_one_not(repository):
    first, second = say(repository, "It is port 80.", "Forget this.")
    amend(repository, CONVERSATION, first, "It is port 8080.", author="planner")
    retract(repository, CONVERSATION, second, "", author="planner")
    assert summarize(repository, CONVERSATION, words, ratio=1.0).text == "It is port 8080."


def test_a_summary_is_stale_when_its_sources_changed(repository):
    first, second, _ = say(repository, *TALK)
    summarize(repository, CONVERSATION, words)
    assert list_summaries(repository, CONVERSATION).summaries[0].changed == ()
    amend(repository, CONVERSATION, first, "It fails on Firefox.", author="planner")
    retract(repository, CONVERSATION, second, "", author="planner")
    listed = list_summaries(repository, CONVERSATION)
    assert set(listed.summaries[0].changed) == {first, second}
    assert listed.uncovered == 1
    summarize(repository, CONVERSATION, words, every=True)
    assert [bool(row.changed) for row in list_summaries(repository, CONVERSATION).summaries] == [False, True]


@given(st.lists(st.sampled_from(TALK), min_size=1, max_size=8), st.floats(0.01, 1))
@settings(max_examples=60)
def test_the_built_in_summary_has_no_more_tokens_than_its_target(texts, ratio):
    """S4-46: at least one word, which is all that may be too much."""
    said = [Said(None, plain_message("planner", text)) for text in texts]
    target = int(sum(words(text) for text in texts) * ratio)
    made = summarize_built_in(said, target, words)
    assert made == summarize_built_in(said, target, words)
    assert 1 <= words(made.text) <= max(target, 1)


def test_a_summary_is_stale_once_its_branch_has_newer_messages(repository):
    """S4-47."""
    say(repository, *TALK)
    name = summarize(repository, CONVERSATION, words).id
    assert marks(repository, name) == [(False, 0)] * 3
    say(repository, "Machine words.", kind="tool-results")
    assert marks(repository, name) == [(False, 0)] * 3
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Later.", "Still later.", branch="fix")
    assert marks(repository, name) == [(False, 0)] * 3
    say(repository, "It moved on.", branch="main")
    assert marks(repository, name) == [(True, 1)] * 3
    say(repository, "And on.", branch="main")
    summarize(repository, "conv-001/main", words)
    assert [(row.stale, row.newer) for row in list_summaries(repository, "conv-001/main").summaries] == [
        (False, 0), (True, 2),
    ]  # fmt: skip


def marks(repository, name):
    """How the list of summaries, the log and the message itself mark a summary of main."""
    row = next(row for row in list_summaries(repository, "conv-001/main").summaries if row.head.id == name)
    entry = next(e for e in log(repository, "conv-001/main", only=LogFilter(kind="summary")).items if e.head.id == name)
    return [(row.stale, row.newer), *((bool(newer), newer) for newer in (entry.newer, cat(repository, name).newer))]


def test_the_branch_of_a_stale_summary_is_marked(repository):
    """S4-47."""
    say(repository, *TALK)
    assert show(repository, CONVERSATION).branches[0].newer is None
    summarize(repository, CONVERSATION, words)
    assert show(repository, CONVERSATION).branches[0].newer == 0
    say(repository, "Later.")
    assert show(repository, CONVERSATION).branches[0].newer == 1
    assert cat(repository, CONVERSATION).newer is None


def test_a_dry_run_stores_nothing(repository):
    say(repository, *TALK)
    done = summarize(repository, CONVERSATION, words, dry_run=True)
    assert (done.id, done.oid, len(texts(repository))) == (None, None, 3)
    assert done.text


@pytest.mark.parametrize("ratio", [0, -0.5, 1.01, float("nan"), float("inf")])
def test_a_ratio_is_a_share(repository, ratio):
    with pytest.raises(Invalid, match="the ratio is"):
        summarize(repository, CONVERSATION, words, ratio=ratio)


def test_a_compaction_is_where_a_context_begins_and_the_long_form_stays(repository):
    say(repository, *TALK)
    done = compact(repository, CONVERSATION, words, ratio=0.4)
    message = read_message(repository, done.oid)
    assert (message.kind, message.extra["context_root"]) == ("compaction", True)
    assert texts(repository) == [*TALK, TALK[0]]
    with pytest.raises(Refused):
        compact(repository, CONVERSATION, words)


def test_the_users_own_command_writes_the_summary(repository):
    say(repository, *TALK)
    mine = with_summarizer(repository, "echo shorter")
    message = read_message(mine, summarize(mine, CONVERSATION, words).oid)
    assert (message.text, message.author.name, message.extra["method"]) == ("shorter", "echo", "command")
    decide(repository, "db", "SQLite")
    assert summarize(mine, CONVERSATION, words, built_in=True).method == "textrank"


def test_a_command_that_fails_stores_nothing(repository):
    """S4-46."""
    say(repository, *TALK)
    before = branch_tips(repository, CONVERSATION)
    for command in ("false", "true", "yes"):
        with pytest.raises(Refused, match="nothing was stored"):
            summarize(with_summarizer(repository, command), CONVERSATION, words)
    assert branch_tips(repository, CONVERSATION) == before


def test_a_store_or_the_environment_cannot_name_the_command(repository):
    """A store may come from somebody else."""
    say(repository, *TALK)
    git(repository, "config", "scopes.summarizer", "echo evil")
    opened = with_summarizer(repository, "echo evil", origin="environment")
    assert summarize(opened, CONVERSATION, words).method == "textrank"


def test_another_branch_is_named_as_everywhere(repository):
    say(repository, *TALK)
    with pytest.raises(NotFound):
        summarize(repository, "conv-001/nowhere", words)
    assert summarize(repository, "conv-001/main", words).branch == "main"


@pytest.mark.parametrize("value", [None, {}, {"messages": "x"}, []])
def test_a_summary_of_somebody_else_may_name_no_sources(value):
    assert source_ids(value) == []
