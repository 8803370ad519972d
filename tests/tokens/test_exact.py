"""Exact counts with tiktoken."""

from __future__ import annotations

import string
import subprocess
import sys
from base64 import b64decode

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Inaccessible
from scopes.tokens.count import (
    ENCODINGS,
    ExactTokenizer,
    RankFilePaths,
    choose_tokenizer,
    find_ranks,
    resolve_model,
    walk_rank_files,
)
from tests.cli.running import environment
from tests.support.examples import examples
from tests.tokens.conftest import INSTALLED, skip_without_rank_files
from tests.tokens.transcripts import TRANSCRIPTS, texts_of

lasting = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
quick = settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
slow = settings(quick, max_examples=examples(25))
AWKWARD = "aZ09 '\"_-/!\n\r\t²½\u0661é\u0301\u017f—─中日привет\u3000\xa0\x85\x1c\x7f\u2028😀sReLlD"
texts = st.text(max_size=40) | st.text(AWKWARD, max_size=40) | st.text(string.printable, max_size=60)


@pytest.fixture(autouse=True)
def nothing_built(monkeypatch):
    """Build every tokenizer anew, as a new process does."""
    monkeypatch.setattr("scopes.tokens.count._built", {})


def test_a_process_builds_the_vocabulary_of_an_encoding_once(monkeypatch):
    """S1-30: building it takes most of the time."""
    skip_without_rank_files()
    built = []
    original = tiktoken.Encoding
    monkeypatch.setattr("tiktoken.Encoding", lambda name, **given: built.append(name) or original(name, **given))
    paths = RankFilePaths("/nowhere", None, INSTALLED)
    for model in (None, resolve_model("gpt-4"), None):
        choose_tokenizer(paths, model).tokenizer.count("hello")
    assert built == ["o200k_base", "cl100k_base"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("the quick brown fox jumps over the lazy dog", 9), ("日本語", 2), ("\n\n\n", 1)],
)
def test_known_texts_have_known_counts(exact, text, tokens):
    assert exact.tokenizer.count(text) == tokens
    assert exact.tokenizer.method == "exact"


def test_a_special_token_is_counted_as_plain_text(exact):
    assert exact.tokenizer.count("<|endoftext|>") > 1


@pytest.mark.slow
def test_a_million_blanks_are_counted(exact):
    """Tiktoken itself panics on so many."""
    assert 0 < exact.tokenizer.count(" " * 1_000_000 + "x" + "\n" * 600_000) < 1_000_000


def test_an_unpaired_surrogate_is_counted_as_the_replacement_character(exact):
    assert exact.tokenizer.count("a\ud800b") == exact.tokenizer.count("a\ufffdb")


@pytest.mark.parametrize("name", ENCODINGS)
def test_ranks_are_the_order_of_the_lines(name):
    """The reason why the ranks in a file are not parsed."""
    skip_without_rank_files()
    found = next(
        data for _, data in walk_rank_files(RankFilePaths("/nowhere", None, INSTALLED), ENCODINGS[name]) if data
    )
    assert [int(word) for word in found.split()[1::2]] == list(range(found.count(b"\n")))


@lasting
@given(st.lists(st.text(max_size=30), max_size=4))
def test_counts_add_up_for_pieces_that_begin_with_a_mark_and_end_in_a_blank_line(exact, texts):
    """The reason why a context can be counted piece by piece."""
    pieces = [f"#{text}\n\n" for text in texts]
    assert exact.tokenizer.count("".join(pieces)) == sum(map(exact.tokenizer.count, pieces))


def test_tiktoken_is_not_imported_before_the_first_text():
    program = """
import sys
from scopes.tokens.count import RankFilePaths, choose_tokenizer
tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, tuple(filter(None, sys.path)))).tokenizer
tokenizer.count("")
print("tiktoken" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_an_error_of_importing_tiktoken_has_a_hint(tmp_path, monkeypatch):
    skip_without_rank_files()
    chosen = choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED))
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(Inaccessible, match="tiktoken cannot be loaded") as refusal:
        chosen.tokenizer.count("hello")
    assert refusal.value.hint


@pytest.fixture(scope="module", params=ENCODINGS)
def both(request, tmp_path_factory):
    """Return a factory of our tokenizers, and a function that counts with tiktoken and the whole vocabulary."""
    skip_without_rank_files()
    row = ENCODINGS[request.param]
    data, _ = find_ranks(RankFilePaths(str(tmp_path_factory.mktemp("cache")), None, INSTALLED), row)
    ranks = {b64decode(word): rank for rank, word in enumerate(data.split()[::2])}
    whole = tiktoken.Encoding(row.name, pat_str=row.pattern, mergeable_ranks=ranks, special_tokens={})
    return (lambda: ExactTokenizer(row, data)), (lambda text: len(whole.encode_ordinary(text)))


@pytest.mark.parametrize(
    "text",
    [
        "x'y'll",
        "don'rE it'S",
        "²\n/!!",
        "1²½\u0663 12345678",
        "e\u0301lan",
        "a—b─c",
        "!\n\n//x",
        "\u3000foo",
        " \t\n \x1c!",
        "'\u017f",
    ],
)
@pytest.mark.cases(6)
def test_awkward_texts_count_the_same(both, text):
    tokenizer, whole = both
    assert tokenizer().count(text) == whole(text)


@slow
@given(drawn=st.lists(texts, max_size=5))
def test_any_texts_count_the_same(both, drawn):
    make, whole = both
    tokenizer = make()
    assert [tokenizer.count(text) for text in drawn] == [whole(text) for text in drawn]


@pytest.mark.skipif(not TRANSCRIPTS, reason="SCOPES_TEST_TRANSCRIPTS names no transcripts")
@pytest.mark.parametrize("name", ["claude-code/v2.0.76_compact_small.jsonl", "codex/v0.118_exec.jsonl"])
def test_real_transcripts_count_the_same(both, name):
    make, whole = both
    tokenizer = make()
    found = [text[:20_000] for text in texts_of(name)][:200]
    assert [tokenizer.count(text) for text in found] == [whole(text) for text in found]
