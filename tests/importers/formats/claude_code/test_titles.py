"""Titles of sessions."""

from __future__ import annotations

from tests.importers.formats.claude_code.logs import Log, ending


def titled(*titles):
    log = Log()
    leaf = log.user("Sell tea")
    for kind, title in titles:
        if kind == "summary":
            log.state("summary", summary=title, leafUuid=leaf)
        elif kind == "foreign":
            log.state("summary", summary=title, leafUuid="elsewhere")
        else:
            log.state(kind, **{"customTitle" if kind == "custom-title" else "aiTitle": title})
    return ending(log).title


def test_the_title_given_by_the_user_wins():
    assert titled(("custom-title", "Tea"), ("ai-title", "Selling tea"), ("summary", "A shop")) == "Tea"


def test_the_agents_title_wins_over_a_summary():
    assert titled(("ai-title", "Selling tea"), ("summary", "A shop")) == "Selling tea"


def test_a_summary_of_the_files_own_messages_is_a_title():
    assert titled(("summary", "A shop")) == "A shop"


def test_the_last_title_of_each_kind_counts():
    assert titled(("ai-title", "One"), ("ai-title", "Two")) == "Two"
    assert (
        titled(("custom-title", "One"), ("ai-title", "Two"), ("custom-title", "Three"), ("ai-title", "Four")) == "Three"
    )
    assert titled(("summary", "One"), ("summary", "Two")) == "Two"


def test_a_summary_of_another_sessions_messages_is_no_title():
    """Files begin with summaries of other sessions."""
    assert titled(("foreign", "Another shop")) is None
    assert titled(("summary", "A shop"), ("foreign", "Another shop")) == "A shop"


def test_a_summary_may_precede_its_message():
    log = Log()
    log.state("summary", summary="A shop", leafUuid="u001")
    log.user("Sell tea")
    assert ending(log).title == "A shop"


def test_empty_titles_are_ignored():
    assert titled(("custom-title", "  "), ("ai-title", "")) is None
    assert titled(("custom-title", None), ("ai-title", 7)) is None
    assert titled(("custom-title", " Tea \n")) == "Tea"
