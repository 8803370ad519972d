"""Summary, files and turns share a budget and never exceed it together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.context.assemble import assemble
from scopes.context.collect import Collected
from scopes.context.project_files import ReadableFolder, TouchedFile
from scopes.context.request import TIGHT_BELOW, Request, check_request
from scopes.context.turns import Turn
from scopes.fence import fenced
from scopes.model.message import Author, Message
from tests.context.test_turns import head, text


class Words:
    """A tokenizer that counts words and records the texts that it counted."""

    method, name = "exact", "words"

    def __init__(self):
        self.counted = []

    def count(self, text):
        self.counted.append(text)
        return len(text.split())


def turn(number, words, conversation="conv-001"):
    message = Message(id="m1", author=Author("carol"), parts=(text("x"),))
    return Turn(number, conversation, head(), message, "User", "word " * words)


def collected(*lengths, summary=None, files=()):
    turns = [turn(number, words) for number, words in enumerate(lengths, start=1)]
    return Collected(turns=turns, messages=len(turns), summary=summary, files=list(files))


def file(name, words):
    return TouchedFile(name, 1, None, "word " * words)


def assembled(material, tokens, title="conv-001/main", tokenizer=None, **options):
    request = check_request(Request(max_tokens=tokens, **options))
    return assemble(material, title, request, ReadableFolder("/nowhere"), tokenizer or Words())


def text_of(result):
    """Return the text of a context with its fence."""
    return result.header + fenced("history", result.body) if result.header or result.body else ""


@given(
    st.lists(st.integers(1, 300), max_size=12),
    st.lists(st.integers(1, 900), max_size=4),
    st.none() | st.integers(1, 900),
    st.integers(0, 2500),
    st.sampled_from([{}, {"mode": "files"}, {"mode": "relevance", "task": "word"}]),
)
def test_a_context_never_exceeds_the_budget(lengths, sizes, summary, tokens, options):
    """S1-5."""
    files = [file(f"{number}.py", size) for number, size in enumerate(sizes)]
    words = None if summary is None else "sum " * summary
    result = assembled(collected(*lengths, summary=words, files=files), tokens, **options)
    assert len(text_of(result).split()) <= result.tokens <= tokens


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(0, 2500))
def test_every_turn_is_kept_or_dropped_with_a_reason(lengths, tokens):
    result = assembled(collected(*lengths), tokens)
    assert set(range(len(result.turns))) == result.selection.kept.keys() | result.selection.dropped.keys()
    assert not result.selection.kept.keys() & result.selection.dropped.keys()


def test_a_summary_is_truncated_to_its_share_if_the_messages_need_the_rest():
    result = assembled(collected(*[300] * 5, summary="sum " * 5000), 1000)
    assert len(result.selection.kept) >= 2
    assert result.summary is not None
    assert result.summary.endswith("... [truncated]")
    assert len(result.summary.split()) <= 200
    assert "the summary is cut: it has 5,000 tokens" in result.warnings


def test_a_summary_gets_what_the_messages_do_not_need():
    """The summary of a compaction was cut to a fifth of a budget that was empty otherwise."""
    result = assembled(collected(10, 10, summary="sum " * 600), 1000)
    assert len(result.selection.kept) == 2
    assert result.summary == ("sum " * 600).strip()
    assert not any("summary" in warning for warning in result.warnings)


def test_the_parts_have_a_fixed_order():
    result = assembled(collected(5, summary="in short", files=[file("a.py", 3)]), 1000)
    places = [
        text_of(result).index(mark) for mark in ("# Context", "## Summary", "## Files", "## Conversation", "### 1.")
    ]
    assert places == sorted(places)


def test_a_header_that_costs_a_quarter_of_the_budget_is_left_out():
    assert text_of(assembled(collected(3), 40)).startswith("----- recorded history ")
    assert text_of(assembled(collected(3), 1000)).startswith("# Context of conv-001/main\n")


@pytest.mark.parametrize("title", ["{0}", "{}", "}{", "%s", "{title!r}"])
def test_braces_in_a_title_are_not_format_placeholders(title):
    header = text_of(assembled(collected(3), 1000, title=title)).splitlines()
    assert header[0] == f"# Context of {title.replace('{', '(').replace('}', ')')}"
    assert "Showing 1 of 1 messages" in header[2]


def test_tokens_that_files_do_not_use_go_to_turns():
    """S1-15."""
    result = assembled(collected(*[90] * 20, files=[file("a.py", 3)]), 1000)
    assert result.tokens >= 850
    assert len(result.files.embedded) == 1


def test_tokens_that_turns_do_not_use_go_to_files():
    """S1-15: a file that is larger than its share is tried again."""
    assert [f.path for f in assembled(collected(5, files=[file("a.py", 800)]), 1000).files.embedded] == ["a.py"]


@pytest.mark.parametrize(("tokens", "files"), [(TIGHT_BELOW - 1, 0), (TIGHT_BELOW, 1)])
def test_below_the_tight_budget_there_are_no_files(tokens, files):
    """S1-16."""
    result = assembled(collected(5, files=[file("a.py", 3)]), tokens)
    assert len(result.files.embedded) == files
    assert any("has no room for files" in warning for warning in result.warnings) == (files == 0)


def test_older_conversations_are_counted_in_the_warning():
    """S1-12."""
    several = Collected(turns=[turn(1, 400, f"conv-{n}") for n in range(4)], messages=4)
    warnings = assembled(several, 900).warnings
    assert "Session history limited: 2 older sessions excluded due to token budget" in warnings


def test_only_turns_that_could_fit_are_counted():
    tokenizer = Words()
    assembled(collected(*[200] * 500), 1000, tokenizer=tokenizer)
    assert 5 <= sum("word word" in counted for counted in tokenizer.counted) <= 20
