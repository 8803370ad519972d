"""Counting with the real encoding."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Inaccessible
from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, walk_rank_files
from tests.cli.running import environment
from tests.context.conftest import INSTALLED

lasting = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("the quick brown fox jumps over the lazy dog", 9), ("日本語", 2), ("\n\n\n", 1)],
)
def test_known_texts_have_known_counts(exact, text, tokens):
    assert exact.tokenizer.count(text) == tokens
    assert exact.tokenizer.method == "exact"


def test_a_special_token_in_a_text_is_plain_text(exact):
    assert exact.tokenizer.count("<|endoftext|>") > 1


def test_a_million_blanks_are_counted(exact):
    """They are more than tiktoken can take."""
    assert 0 < exact.tokenizer.count(" " * 1_000_000 + "x" + "\n" * 600_000) < 1_000_000


def test_half_a_surrogate_pair_is_counted_as_what_replaces_it(exact):
    assert exact.tokenizer.count("a\ud800b") == exact.tokenizer.count("a\ufffdb")


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_ranks_of_a_file_are_its_order(name):
    """What spares reading them."""
    pytest.importorskip("bpe_openai")
    found = next(
        each for each in walk_rank_files(RankFilePaths("/nowhere", None, INSTALLED), ENCODINGS[name]) if each.data
    )
    assert [int(word) for word in (found.data or b"").split()[1::2]] == list(range((found.data or b"").count(b"\n")))


@lasting
@given(st.lists(st.text(max_size=30), max_size=4))
def test_pieces_that_end_in_a_newline_and_begin_with_a_mark_add_up(exact, texts):
    """What lets a context be counted piece by piece."""
    pieces = [f"#{text}\n\n" for text in texts]
    assert exact.tokenizer.count("".join(pieces)) == sum(map(exact.tokenizer.count, pieces))


def test_nothing_is_loaded_before_the_first_text():
    program = """
import sys
from scopes.tokens.rank_files import RankFilePaths
from scopes.tokens.choose import choose_tokenizer
tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, tuple(filter(None, sys.path)))).tokenizer
tokenizer.count("")
print("tiktoken" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("text", ["0", "007", "12", "999 of 123", "41: 5"])
def test_numbers_of_headings_never_take_another_build(exact, text):
    """Which turns are shown is known only after they were counted."""
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    tokenizer.count("1 of : 0")
    tokenizer.count(text)
    assert tokenizer._builds == 1
    assert tokenizer.count(text) == exact.tokenizer.count(text)


def test_what_was_announced_and_never_counted_costs_nothing(exact):
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    tokenizer.prepare(["x" * 10_000_000])
    assert tokenizer._builds == 0
    assert tokenizer.count("two words") == exact.tokenizer.count("two words")


def test_no_text_has_no_tokens_and_loads_nothing():
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    assert (tokenizer.count(""), tokenizer._builds) == (0, 0)


def test_a_tiktoken_that_cannot_be_loaded_is_named_with_its_cure(tmp_path, monkeypatch):
    pytest.importorskip("bpe_openai")
    chosen = choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED))
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(Inaccessible, match="tiktoken cannot be loaded") as refusal:
        chosen.tokenizer.count("hello")
    assert refusal.value.hint
