"""Summary messages: what they cover, when they are stale, and that a failure stores nothing."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, append, retract
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.log import LogFilter, log
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.show import cat, show
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Busy, Invalid, NotFound, Refused
from scopes.history.messages import plain_message, read_message
from scopes.history.names import list_branch_tips
from scopes.memory.source_messages import SourceMessage, source_ids
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize, summarize_built_in
from scopes.model.message import Author
from scopes.store.config import Setting
from scopes.store.repository import Caller, open_repository
from tests.memory.talking import CONVERSATION, WORDS, decide, say, typed_decision, words
from tests.support.examples import examples
from tests.support.history import texts
from tests.support.store import FAST, git

TALK = ("The login form fails on Safari.", "Safari blocks the cookie of the login form.", "Lunch was pasta.")


def with_summarizer(repository, command, origin="flag"):
    """Open the store with a summarizer command in its settings."""
    setting = Setting("scopes.summarizer", command, origin)
    return open_repository(repository.path, FAST | {"scopes.summarizer": setting}, Caller("carol", "test"))


def test_a_summary_is_a_message_that_names_its_sources(repository):
    """S4-45."""
    ids = say(repository, *TALK)
    tip = list_branch_tips(repository, CONVERSATION)["main"]
    done = summarize(repository, CONVERSATION, WORDS, ratio=0.4)
    message = read_message(repository, done.oid)
    assert (message.kind, message.author, message.text) == ("summary", ("scopes", "system"), TALK[0])
    assert message.extra == {
        "summarizes": {"branch": "main", "messages": ids, "tip": tip},
        "original_tokens": 17, "summary_tokens": 6, "counted": "exact", "ratio": 0.3529, "method": "textrank",
    }  # fmt: skip
    assert (done.messages, done.compact) == (3, False)


def test_the_next_summary_covers_only_what_is_new(repository):
    say(repository, *TALK)
    summarize(repository, CONVERSATION, WORDS)
    (new,) = say(repository, "The database needs an index.")
    second = summarize(repository, CONVERSATION, WORDS)
    assert source_ids(read_message(repository, second.oid).extra["summarizes"]) == [new]
    assert summarize(repository, CONVERSATION, WORDS, include_all=True).messages == 4


def test_a_branch_without_new_messages_is_refused(repository):
    with pytest.raises(Refused, match="no new messages on conv-001/main"):
        summarize(repository, CONVERSATION, WORDS)
    say(repository, "One thing.")
    summarize(repository, CONVERSATION, WORDS)
    with pytest.raises(Refused):
        summarize(repository, CONVERSATION, WORDS)


def test_messages_of_code_only_are_refused(repository):
    say(repository, "```\nx = 1\n```")
    with pytest.raises(Refused, match="only code"):
        summarize(repository, CONVERSATION, WORDS)
    assert len(texts(repository, CONVERSATION)) == 1


def test_messages_of_programs_are_not_summarized(repository):
    for kind in ("system", "tool-results", "notice", "meta"):
        say(repository, "Machine words of the login form.", kind=kind)
    say(repository, "An injected reminder.", author_kind="injected")
    (only,) = say(repository, "Said by somebody.")
    done = summarize(repository, CONVERSATION, WORDS)
    assert source_ids(read_message(repository, done.oid).extra["summarizes"]) == [only]


def test_amended_text_is_summarized_and_retracted_text_is_not(repository):
    first, second = say(repository, "It is port 80.", "Forget this.")
    amend(repository, CONVERSATION, first, "It is port 8080.", author=Author("planner"))
    retract(repository, CONVERSATION, second, "", author=Author("planner"))
    assert summarize(repository, CONVERSATION, WORDS, ratio=1.0).text == "It is port 8080."


def test_a_summary_is_stale_when_its_sources_changed(repository):
    first, second, _ = say(repository, *TALK)
    summarize(repository, CONVERSATION, WORDS)
    assert list_summaries(repository, CONVERSATION).summaries[0].changed == ()
    amend(repository, CONVERSATION, first, "It fails on Firefox.", author=Author("planner"))
    retract(repository, CONVERSATION, second, "", author=Author("planner"))
    listed = list_summaries(repository, CONVERSATION)
    assert set(listed.summaries[0].changed) == {first, second}
    assert listed.uncovered == 1
    summarize(repository, CONVERSATION, WORDS, include_all=True)
    assert [bool(row.changed) for row in list_summaries(repository, CONVERSATION).summaries] == [False, True]


@given(st.lists(st.sampled_from(TALK), min_size=1, max_size=8), st.floats(0.01, 1))
@settings(max_examples=examples(60))
def test_the_built_in_summary_has_no_more_tokens_than_its_target(texts, ratio):
    """S4-46: except that it has at least one word."""
    sources = [SourceMessage(None, plain_message("planner", text)) for text in texts]
    target = int(sum(words(text) for text in texts) * ratio)
    made = summarize_built_in(sources, ratio, words, original_tokens=sum(map(words, texts)))
    assert made == summarize_built_in(sources, ratio, words, original_tokens=sum(map(words, texts)))
    assert 1 <= words(made.text) <= max(target, 1)


def test_a_summary_is_stale_once_its_branch_has_newer_messages(repository):
    """S4-47."""
    say(repository, *TALK)
    name = summarize(repository, CONVERSATION, WORDS).id
    assert marks(repository, name) == [(False, 0)] * 3
    say(repository, "Machine words.", kind="tool-results")
    assert marks(repository, name) == [(False, 0)] * 3
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Later.", "Still later.", branch="fix")
    assert marks(repository, name) == [(False, 0)] * 3
    say(repository, "It moved on.", branch="main")
    assert marks(repository, name) == [(True, 1)] * 3
    say(repository, "And on.", branch="main")
    summarize(repository, "conv-001/main", WORDS)
    assert [(row.stale, row.newer) for row in list_summaries(repository, "conv-001/main").summaries] == [
        (False, 0), (True, 2),
    ]  # fmt: skip


def marks(repository, name):
    """Return how the list of summaries, the log and `cat` mark a summary on main."""
    row = next(row for row in list_summaries(repository, "conv-001/main").summaries if row.head.id == name)
    entry = next(e for e in log(repository, "conv-001/main", only=LogFilter(kind="summary")).items if e.head.id == name)
    return [(row.stale, row.newer), *((bool(newer), newer) for newer in (entry.newer, cat(repository, name).newer))]


def test_the_branch_of_a_stale_summary_is_marked(repository):
    """S4-47."""
    say(repository, *TALK)
    assert show(repository, CONVERSATION).branches[0].newer is None
    summarize(repository, CONVERSATION, WORDS)
    assert show(repository, CONVERSATION).branches[0].newer == 0
    say(repository, "Later.")
    assert show(repository, CONVERSATION).branches[0].newer == 1
    assert cat(repository, CONVERSATION).newer is None


def test_a_dry_run_stores_nothing(repository):
    say(repository, *TALK)
    done = summarize(repository, CONVERSATION, WORDS, dry_run=True)
    assert (done.id, done.oid, len(texts(repository, CONVERSATION))) == (None, None, 3)
    assert done.text


@pytest.mark.parametrize("ratio", [0, -0.5, 1.01, float("nan"), float("inf")])
def test_a_ratio_out_of_range_is_refused(repository, ratio):
    with pytest.raises(Invalid, match="invalid ratio"):
        summarize(repository, CONVERSATION, WORDS, ratio=ratio)


def test_a_compaction_keeps_the_messages_before_it(repository):
    say(repository, *TALK)
    done = summarize(repository, CONVERSATION, WORDS, ratio=0.4, compact=True)
    message = read_message(repository, done.oid)
    assert (message.kind, message.extra["context_root"]) == ("compaction", True)
    assert texts(repository, CONVERSATION) == [*TALK, TALK[0]]
    with pytest.raises(Refused, match="since its last compaction"):
        summarize(repository, CONVERSATION, WORDS, compact=True)


@pytest.mark.parametrize("compact", [False, True])
def test_undo_removes_a_summary_and_nothing_else(repository, compact):
    say(repository, *TALK)
    done = summarize(repository, CONVERSATION, WORDS, compact=compact)
    assert undo(repository).target.id == done.operation
    assert texts(repository, CONVERSATION) == list(TALK)
    redo(repository)
    assert texts(repository, CONVERSATION) == [*TALK, done.text]
    assert [finding for finding in verify(repository).findings if finding.level == "error"] == []


def test_a_message_appended_while_a_summary_is_written_counts_as_new(repository):
    """The command itself appends the message; a compaction is refused then."""
    say(repository, *TALK)
    command = f"{sys.executable} -m scopes --store {repository.path} conv append {CONVERSATION} Meanwhile. >/dev/null; echo short"
    summarize(with_summarizer(repository, command), CONVERSATION, WORDS)
    assert texts(repository, CONVERSATION) == [*TALK, "Meanwhile.", "short"]
    assert list_summaries(repository, CONVERSATION).uncovered == 1
    assert summarize(repository, CONVERSATION, WORDS, ratio=1.0).text == "Meanwhile."
    with pytest.raises(Busy, match="meanwhile; nothing was stored"):
        summarize(with_summarizer(repository, command), CONVERSATION, WORDS, compact=True)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_a_compaction_continues_from_the_previous_one(repository, ratio):
    """It represents the whole history before it."""
    say(repository, "ALPHA is the name of the server.")
    first = summarize(repository, CONVERSATION, WORDS, ratio=ratio, compact=True)
    (later,) = say(repository, "BETA is the name of the client.")
    second = summarize(repository, CONVERSATION, WORDS, ratio=ratio, compact=True)
    assert [line.split()[0].removesuffix("…") for line in second.text.splitlines()] == ["ALPHA", "BETA"]
    assert (second.messages, second.earlier, second.original_tokens) == (1, first.id, 14)
    assert source_ids(read_message(repository, second.oid).extra["summarizes"]) == [first.id, later]
    assert "[summary of what was before]\nALPHA" in compacted_by_cat(repository)


def compacted_by_cat(repository):
    """Compact with a command that returns its prompt."""
    say(repository, "GAMMA.")
    return summarize(with_summarizer(repository, "cat"), CONVERSATION, WORDS, compact=True).text


def test_a_compaction_includes_messages_that_a_summary_covers(repository):
    """A context does not start at a summary."""
    say(repository, *TALK)
    summarize(repository, CONVERSATION, WORDS)
    assert summarize(repository, CONVERSATION, WORDS, ratio=1.0, compact=True).text == "\n".join(TALK[:2])
    say(repository, "The server is slow today.")
    summarize(repository, CONVERSATION, WORDS)
    last = summarize(repository, CONVERSATION, WORDS, ratio=1.0, compact=True)
    assert last.text == "\n".join([*TALK[:2], "The server is slow today."])


def test_a_compaction_does_not_continue_from_one_with_changed_sources(repository):
    first, _ = say(repository, "ALPHA is the server.", "BETA is the client.")
    summarize(repository, CONVERSATION, WORDS, ratio=1.0, compact=True)
    say(repository, "GAMMA is new.")
    summarize(repository, CONVERSATION, WORDS, ratio=1.0, compact=True)
    amend(repository, CONVERSATION, first, "OMEGA is the server.", author=Author("planner"))
    assert [row.changed for row in list_summaries(repository, CONVERSATION).summaries] == [(first,), (first,)]
    again = summarize(repository, CONVERSATION, WORDS, ratio=1.0, compact=True)
    assert (again.earlier, sorted(line.split()[0] for line in again.text.splitlines())) == (
        None, ["BETA", "GAMMA", "OMEGA"],
    )  # fmt: skip
    assert not list_summaries(repository, CONVERSATION).summaries[0].stale


def test_tokens_before_a_compaction_of_another_program_are_counted(repository):
    """It stores no number of tokens."""
    say(repository, *TALK)
    say(repository, "They talked about a form.", kind="compaction", author_kind="system")
    say(repository, "One more thing.")
    done = summarize(repository, CONVERSATION, WORDS, ratio=0.4, compact=True)
    assert (done.original_tokens, done.text.splitlines()[0]) == (20, "They talked about a form.")
    assert done.summary_tokens <= 0.4 * 20


def test_a_typed_message_without_text_is_summarized_by_its_payload(repository):
    payload = {"options": ["files", "SQLite"], "title": "Use SQLite for the index"}
    for kind, document in (("proposal", payload), ("decision", {"topic": "db", "decision": "SQLite"})):
        append(repository, CONVERSATION, replace(plain_message("lead", "", kind=kind), payload=document))
    done = summarize(repository, CONVERSATION, WORDS, ratio=1.0)
    assert done.messages == 2
    assert done.text == 'options: ["files", "SQLite"]\ntitle: Use SQLite for the index\ndb: SQLite'
    assert summarize(repository, CONVERSATION, WORDS, ratio=0.3, include_all=True).text.splitlines()[-1] == "db: SQLite"


def test_the_users_own_command_writes_the_summary(repository):
    say(repository, *TALK)
    mine = with_summarizer(repository, "echo shorter")
    message = read_message(mine, summarize(mine, CONVERSATION, WORDS).oid)
    assert (message.text, message.author.name, message.extra["method"]) == ("shorter", "echo", "command")
    decide(repository, "db", "SQLite")
    assert summarize(mine, CONVERSATION, WORDS, built_in=True).method == "textrank"


def test_a_command_that_fails_stores_nothing(repository):
    """S4-46."""
    say(repository, *TALK)
    before = list_branch_tips(repository, CONVERSATION)
    for command in ("false", "true", "yes"):
        with pytest.raises(Refused, match="nothing was stored"):
            summarize(with_summarizer(repository, command), CONVERSATION, WORDS)
    assert list_branch_tips(repository, CONVERSATION) == before


def test_a_command_in_the_store_or_environment_is_not_run(repository):
    """A store may come from another person."""
    say(repository, *TALK)
    git(repository, "config", "scopes.summarizer", "echo evil")
    opened = with_summarizer(repository, "echo evil", origin="environment")
    assert summarize(opened, CONVERSATION, WORDS).method == "textrank"


def test_a_branch_is_named_with_its_conversation(repository):
    say(repository, *TALK)
    with pytest.raises(NotFound):
        summarize(repository, "conv-001/nowhere", WORDS)
    assert summarize(repository, "conv-001/main", WORDS).branch == "main"


@pytest.mark.parametrize("value", [None, {}, {"messages": "x"}, []])
def test_an_unknown_form_of_sources_is_empty(value):
    assert source_ids(value) == []


def test_a_compaction_keeps_what_merges_brought_together_and_how_their_conflicts_ended(repository):
    """After a merge, a compaction had statements of both sides, and not which of them was chosen."""
    say(repository, *TALK)
    branch(repository, CONVERSATION, name="alt", switch=False)
    decide(repository, "db", "files")
    append(repository, CONVERSATION, typed_decision("db", "SQLite"), branch="alt")
    conflict = merge(repository, CONVERSATION, "alt", target="main").conflicts[0]
    resolve_conflict(
        repository, CONVERSATION, conflict.id, take="source", reason="one file", author=Author("lead", "human")
    )
    continue_merge(repository, CONVERSATION)
    for _ in range(2):
        done = summarize(repository, CONVERSATION, WORDS, compact=True)
        assert done.text.count("Merged branches:\n- alt into main, 1 message") == 1
        assert "conflicts resolved: decision db: took source (SQLite), by lead: one file" in done.text
        say(repository, "One more message about the login form.")
