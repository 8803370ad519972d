"""The estimate is close to the exact count, and more often above it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.tokens.count import EstimatingTokenizer
from tests.tokens.transcripts import TRANSCRIPTS, texts_of

count = EstimatingTokenizer().count


@given(st.lists(st.text(max_size=30), max_size=4))
def test_a_text_never_costs_more_than_its_pieces(texts):
    pieces = [f"#{text}\n\n" for text in texts]
    assert count("".join(pieces)) <= sum(map(count, pieces))


@given(st.text(max_size=200))
def test_an_estimate_lies_between_one_and_a_few_tokens_a_byte(text):
    assert bool(text) <= count(text) <= 3 * len(text.encode("utf-8", "surrogatepass")) + 2


@pytest.mark.parametrize(
    "text", ["\n " * 5000, " \t" * 5000, "é" * 5000, "ж" * 5000, "x" * 5000, "_" * 5000, "1" * 5000]
)
def test_unusual_texts_are_not_estimated_too_low(exact, text):
    assert exact.tokenizer.count(text) <= count(text)


def test_a_million_blanks_have_few_tokens():
    assert 0 < count(" " * 1_000_000) < 20_000


@pytest.mark.parametrize(
    "text",
    [
        "Why does the login fail on Safari? The cookie is dropped, because SameSite is missing.",
        "def find(self, key: str) -> str | None:\n    return self._files.get(key.lower())\n",
        "c2NvcGVzIGlzIGdpdCBmb3IgYWdlbnQgY29udmVyc2F0aW9ucw==",
        "Привет, как дела? Это проверка русского текста.",
        "我们今天讨论了数据库的设计,决定使用事件溯源。",
    ],
)
def test_prose_code_hashes_and_other_alphabets_are_not_estimated_too_low(exact, text):
    assert exact.tokenizer.count(text) <= count(text) <= 2 * exact.tokenizer.count(text)


@pytest.mark.skipif(not TRANSCRIPTS, reason="SCOPES_TEST_TRANSCRIPTS names no transcripts")
@pytest.mark.parametrize(
    "name", ["claude-code/v2.0.76_compact_small.jsonl", "codex/v0.118_exec.jsonl", "kimi/assistant_tools.jsonl"]
)
def test_real_transcripts_are_estimated_within_ten_percent(exact, name):
    texts = "\n".join(texts_of(name))[:100_000]
    assert 0.99 < count(texts) / exact.tokenizer.count(texts) < 1.10
