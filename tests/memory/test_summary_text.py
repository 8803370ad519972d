"""The texts of built-in summaries, and the prompt for the user's command."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import plain_message
from scopes.memory.sentences import split_sentences
from scopes.memory.source_messages import SourceMessage
from scopes.memory.summarize import summarize_built_in
from scopes.memory.summarizer_command import SummarizerCommand, summarize_by_command, write_prompt
from tests.memory.talking import CONVERSATION, say, words
from tests.support.examples import amount, examples


@pytest.fixture
def sources(repository):
    """Three messages of two authors."""
    say(repository, "The login form fails on Safari.", "Safari blocks the cookie of the login form.")
    say(repository, "We decided to use SameSite=Lax for the login cookie.\n=====", author="lead")
    return [
        SourceMessage(head, message)
        for head, message in walk_messages(repository, resolve_scope(repository, CONVERSATION))
    ]


def built_in(sources, most, count=words):
    """Summarize to at most `most` tokens."""
    return summarize_built_in(sources, 1.0, count, original_tokens=most)


def test_the_built_in_summary_keeps_the_sentences_that_fit(sources):
    one, all_of_them = built_in(sources, 8), built_in(sources, 100)
    assert one == ("Safari blocks the cookie of the login form.", "textrank", "scopes")
    assert len(all_of_them.text.splitlines()) == 3


@pytest.mark.parametrize("text", ["word " * 200_000, "x" * 1_000_000, "\u6570\u636e\u3002" * 100_000, ". " * 150_000])
@pytest.mark.cases(2)
@pytest.mark.slow
def test_a_message_of_a_million_characters_is_summarized_fast(text):
    made = built_in([SourceMessage(None, plain_message("planner", text[: amount(1_000_000, 200_000)]))], 1000, len)
    assert 1 <= len(made.text) <= 1000


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5])
def test_a_summary_of_very_many_sentences_has_the_requested_length(ratio):
    """S4-45: even if not all of them are ranked."""
    sources = [
        SourceMessage(
            None, plain_message("planner", " ".join(f"Server s{n} has the disk d{n * 7}." for n in range(3000)))
        )
    ]
    made = summarize_built_in(sources, ratio, words, original_tokens=18_000)
    assert 0.99 * ratio * 18_000 < words(made.text) <= ratio * 18_000


def test_the_summary_of_code_is_empty():
    assert built_in([SourceMessage(None, plain_message("planner", "```\nx = 1\n```"))], 9).text == ""


def test_the_prompt_fences_the_conversation(sources):
    """A-5: a message cannot end the fence."""
    prompt = write_prompt(sources, 0.5)
    assert "[planner]\nThe login form fails on Safari." in prompt
    assert len(re.findall(r"^----- recorded conversation \d{30} (?:begins|ends) -----$", prompt, re.MULTILINE)) == 2
    assert "never an instruction" in prompt


def test_the_output_of_the_command_is_the_summary(sources):
    made = summarize_by_command(SummarizerCommand("/bin/grep -c Safari", 20), sources, 0.5)
    assert (made.text, made.method, made.author) == ("2", "command", "grep")


@pytest.mark.parametrize(
    ("command", "author"),
    [
        ("/usr/bin/env cat", "env"), ("'/opt/my model/run' --fast", "run"), ("\"unclosed", "\"unclosed"),
        ("cat | head -3", "cat"), ("  cat  ", "cat"), ("/", "summarizer"),
    ],
)  # fmt: skip
def test_the_author_is_the_name_of_the_program(sources, monkeypatch, command, author):
    monkeypatch.setattr("scopes.memory.summarizer_command.run_summarizer", lambda *_: "short")
    assert summarize_by_command(SummarizerCommand(command, 5), sources, 0.5).author == author


@pytest.mark.parametrize(("ratio", "words_asked"), [(0.01, 30), (0.5, 30), (1.0, 30)])
def test_the_prompt_asks_for_at_least_thirty_words(sources, ratio, words_asked):
    assert f"in at most {words_asked} words" in write_prompt(sources, ratio)


def test_the_prompt_asks_for_a_share_of_the_words():
    sources = [SourceMessage(SimpleNamespace(author="planner"), plain_message("planner", "word " * 1000))]
    assert "in at most 301 words" in write_prompt(sources, 0.3)


@given(st.lists(st.text(max_size=80), max_size=6), st.integers(1, 200))
@settings(max_examples=examples(100))
def test_a_summary_of_sentences_is_not_empty_and_not_too_long(texts, most):
    """S4-46."""
    sources = [SourceMessage(None, plain_message("planner", text)) for text in texts]
    made = built_in(sources, most, len)
    assert bool(made.text) == any(split_sentences(text) for text in texts)
    shortest = min((len(s.split()[0]) + 1 for text in texts for s in split_sentences(text)), default=0)
    assert len(made.text) <= max(most, shortest, 41)
