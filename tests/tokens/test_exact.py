"""Exact counts with tiktoken, also with only a part of the vocabulary."""

from __future__ import annotations

import string
import subprocess
import sys
import threading
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Inaccessible
from scopes.loading import load
from scopes.tokens.count import (
    ENCODINGS,
    MAX_TOKEN_BYTES,
    ExactTokenizer,
    RankFilePaths,
    choose_tokenizer,
    chunks_of,
    decode_ranks,
    find_ranks,
    parts_of,
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
def no_shared_tokenizers(monkeypatch):
    """Build every tokenizer anew, as a new process does."""
    monkeypatch.setattr("scopes.tokens.count._shared", {})


def test_a_process_builds_the_vocabulary_of_an_encoding_once():
    skip_without_rank_files()
    paths = RankFilePaths("/nowhere", None, INSTALLED)
    first, second = choose_tokenizer(paths).tokenizer, choose_tokenizer(paths, resolve_model("gpt-4")).tokenizer
    assert choose_tokenizer(paths).tokenizer is first
    assert second is not first


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
        each for each in walk_rank_files(RankFilePaths("/nowhere", None, INSTALLED), ENCODINGS[name]) if each.data
    )
    assert [int(word) for word in (found.data or b"").split()[1::2]] == list(range((found.data or b"").count(b"\n")))


@lasting
@given(st.lists(st.text(max_size=30), max_size=4))
def test_counts_add_up_for_pieces_that_begin_with_a_mark_and_end_in_a_blank_line(exact, texts):
    """The reason why a context can be counted piece by piece."""
    pieces = [f"#{text}\n\n" for text in texts]
    assert exact.tokenizer.count("".join(pieces)) == sum(map(exact.tokenizer.count, pieces))


def test_tiktoken_is_not_imported_before_the_first_text():
    program = """
import sys
from scopes.tokens.count import RankFilePaths
from scopes.tokens.count import choose_tokenizer
tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, tuple(filter(None, sys.path)))).tokenizer
tokenizer.count("")
print("tiktoken" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("text", ["0", "007", "12", "999 of 123", "41: 5"])
def test_numbers_in_headings_need_no_second_build(exact, builds, text):
    """The number of turns in the header is known only after the turns were counted."""
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    tokenizer.count("1 of : 0")
    tokenizer.count(text)
    assert len(builds) == 1
    assert tokenizer.count(text) == exact.tokenizer.count(text)


def test_announced_texts_are_not_processed_before_the_first_count(exact, builds):
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    tokenizer.prepare(["x" * 10_000_000])
    assert builds == []
    assert tokenizer.count("two words") == exact.tokenizer.count("two words")


def test_an_empty_text_has_no_tokens_and_builds_nothing(builds):
    tokenizer = choose_tokenizer(RankFilePaths("/nowhere", None, INSTALLED)).tokenizer
    assert (tokenizer.count(""), builds) == (0, [])


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
    tokens = decode_ranks(data)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    whole = load("tiktoken:Encoding")(row.name, pat_str=row.pattern, mergeable_ranks=ranks, special_tokens={})

    def make():
        tokenizer = ExactTokenizer(row, data)
        tokenizer._tokens = tokens  # decoded once for all tests
        return tokenizer

    return make, (lambda text: len(whole.encode_ordinary(text)))


@pytest.fixture
def builds(monkeypatch):
    """Return a list with the vocabulary size of each build."""
    sizes = []
    encoding = load("tiktoken:Encoding")

    def build(name, *, mergeable_ranks, **options):
        sizes.append(len(mergeable_ranks))
        return encoding(name, mergeable_ranks=mergeable_ranks, **options)

    monkeypatch.setattr("tiktoken.Encoding", build)
    return sizes


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
    tokenizer.prepare(drawn[:2])
    assert [tokenizer.count(text) for text in drawn] == [whole(text) for text in drawn]


@pytest.mark.skipif(not TRANSCRIPTS, reason="SCOPES_TEST_TRANSCRIPTS names no transcripts")
@pytest.mark.parametrize("name", ["claude-code/v2.0.76_compact_small.jsonl", "codex/v0.118_exec.jsonl"])
def test_real_transcripts_count_the_same(both, name):
    make, whole = both
    tokenizer = make()
    found = [text[:20_000] for text in texts_of(name)][:200]
    tokenizer.prepare(found)
    assert [tokenizer.count(text) for text in found] == [whole(text) for text in found]


@quick
@given(text=texts)
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_piece_of_a_text_lies_within_a_chunk(name, text):
    """The reason why a part of the vocabulary is enough: merging looks up only substrings of pieces."""
    pieces = pytest.importorskip("regex").findall(ENCODINGS[name].pattern, text)
    chunks = chunks_of(text)
    assert all(any(piece in chunk for chunk in chunks) for piece in pieces)


def test_parts_are_all_substrings_that_can_be_a_token():
    assert parts_of({"abc", "é"}) == {b"a", b"b", b"c", b"ab", b"bc", b"abc", b"\xc3", b"\xa9", b"\xc3\xa9"}
    assert max(map(len, parts_of({"-" * 300}) or ())) == MAX_TOKEN_BYTES


def test_a_megabyte_without_a_space_has_too_many_parts():
    assert parts_of({"x" * 1_000_000}) is None


def test_no_token_is_longer_than_the_longest_part(both):
    make, _ = both
    assert max(map(len, make()._tokens)) == MAX_TOKEN_BYTES


def test_announced_texts_need_one_build(both, builds):
    tokenizer = both[0]()
    announced = [f"word{number} of turn {'x' * number}" for number in range(20)]
    tokenizer.prepare(announced)
    for text in (*announced, "word3 of", "word"):
        tokenizer.count(text)
    assert len(builds) == 1
    assert builds[0] < 2_000


def test_a_text_announced_while_another_one_is_counted_is_part_of_the_next_build(both, builds, monkeypatch):
    """Both happen in threads; the announcement comes between reading the announced texts and dropping them."""
    tokenizer = both[0]()
    threads = [threading.Thread(target=tokenizer.prepare, args=(["omega psi"],))]

    def replace_surrogates(text):
        for thread in threads:
            thread.start()
            thread.join(0.2)
        threads.clear()
        return text

    announcing = threads[0]
    monkeypatch.setattr("scopes.tokens.count._replace_surrogates", replace_surrogates)
    tokenizer.count("alpha")
    announcing.join()
    for text in ("beta", "omega", "psi"):
        tokenizer.count(text)
    assert len(builds) == 2


@pytest.mark.slow
def test_many_announced_texts_are_not_kept(both, builds):
    """A program that counts none of them keeps the tokenizer for its whole life."""
    tokenizer, whole = both
    counting = tokenizer()
    assert counting.count("few") == whole("few")
    tracemalloc.start()
    for number in range(40):
        counting.prepare([f"{number}" * 100_000])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000_000
    assert counting.count("more words") == whole("more words")
    assert (len(builds), builds[1] > 100_000) == (2, True)


@pytest.mark.slow
def test_after_four_partial_builds_the_whole_encoding_is_built(both, builds):
    tokenizer = both[0]()
    for text in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"):
        tokenizer.count(text)
    assert len(builds) == 5
    assert builds[-1] > 100_000


@pytest.mark.slow
def test_a_lot_of_text_is_counted_with_the_whole_encoding(both, builds):
    tokenizer, whole = both
    text = "some words and 12 numbers, " * 30_000
    assert tokenizer().count(text) == whole(text)
    assert builds[0] > 100_000
