"""What Aider says in its notices: models, tokens, files."""

from __future__ import annotations

import pytest

from scopes.importers.formats.aider.notices import find_model, find_touches, is_interrupt, read_usage
from scopes.model.message import FileTouch


@pytest.mark.parametrize(
    ("notice", "model"),
    [
        ("Model: gpt-4o-mini with whole edit format", "gpt-4o-mini"),
        ("Models: claude-3-5-sonnet-20240620 with diff edit format, weak model x", "claude-3-5-sonnet-20240620"),
        ("Main model: openrouter/a/b with diff edit format, infinite output\nWeak model: x", "openrouter/a/b"),
        ("Model: anthropic/claude-3-haiku⚡ with ♾️ whole edit format", "anthropic/claude-3-haiku"),
        ("Model: a with diff edit format\nModel: b with diff edit format", "b"),
        ("Model deepseek/deepseek-coder: Missing these environment variables:", None),
        ("The Model: a with b", None),
        ("", None),
    ],
)
def test_the_model_is_the_last_that_is_named(notice, model):
    assert find_model(notice) == model


@pytest.mark.parametrize(
    ("notice", "counts"),
    [
        ("Tokens: 941 sent, 71 received.", (941, 0, 0, 71)),
        ("Tokens: 19,942 sent, 132 received. Cost: $0.06 request, $0.47 session.", (19942, 0, 0, 132)),
        ("Tokens: 3.2k sent, 1.5k received.", (3200, 0, 0, 1500)),
        ("Tokens: 1,711 sent, 1,632 cache hit, 43 received.", (79, 1632, 0, 43)),
        ("Tokens: 12,963 sent, 11,191 cache write, 1,270 cache hit, 105 received.", (502, 1270, 11191, 105)),
        ("Tokens: 9,909 sent, 0 received.\nError\nTokens: 20,205 sent, 7 received.", (30_114, 0, 0, 7)),
        ("Tokens: 206 sent, 9,474 cached, 85 received.", (206, 9474, 0, 85)),  # an older version counted them apart
    ],
)
def test_sent_tokens_are_counted_without_those_of_the_cache(notice, counts):
    usage = read_usage(f"Applied edit to a\n{notice}")
    assert tuple(usage[name] for name in ("input_uncached", "cache_read", "cache_write", "output")) == counts
    assert all(line in notice for line in usage["raw"]["notice"].split("\n"))


@pytest.mark.parametrize(
    "notice",
    ["", "Tokens: many sent", "Tokens: , sent, 3 received.", "5 sent, 3 received", "Tokens: 9\nsent, 3 received"],
)
def test_a_notice_without_tokens_has_no_usage(notice):
    assert read_usage(notice) is None


@pytest.mark.parametrize(
    ("notice", "touches"),
    [
        ("Applied edit to a b.py", [FileTouch("a b.py", "edit")]),
        ("Added app.py to the chat.\nAdded /x/y.py to the chat", [FileTouch("app.py", "mention"), FileTouch("/x/y.py", "mention")]),
        ("Added .aider* to .gitignore", []),
        ("Not Applied edit to x", []),
        ("Commit d0ffbf1 fix: Applied edit to x", []),
    ],
)  # fmt: skip
def test_edited_files_and_those_in_the_chat_are_found(notice, touches):
    assert list(find_touches(notice)) == touches


def test_only_the_interrupt_of_an_answer_counts():
    assert is_interrupt("^C KeyboardInterrupt")
    assert not is_interrupt("^C again to exit")
