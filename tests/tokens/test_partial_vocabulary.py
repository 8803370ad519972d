"""An encoding that is built with part of its tokens counts as the whole one does."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.loading import load
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.exact import MAX_TOKEN_BYTES, ExactTokenizer, chunks_of, parts_of
from scopes.tokens.rank_files import RankFilePaths, find_vocabulary
from tests.context.conftest import INSTALLED
from tests.context.real import TRANSCRIPTS, texts_of

quick = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
slow = settings(quick, max_examples=25)
AWKWARD = "aZ09 '\"_-/!\n\r\t²½\u0661é\u0301\u017f—─中日привет\u3000\xa0\x85\x1c\x7f\u2028😀sReLlD"
texts = st.text(max_size=40) | st.text(AWKWARD, max_size=40) | st.text(string.printable, max_size=60)


class Loaded:
    """A vocabulary whose tokens are at hand; counts how often they were asked for."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.loads = 0

    def load(self):
        self.loads += 1
        return self.tokens


@pytest.fixture(scope="module", params=ENCODINGS)
def both(request, tmp_path_factory):
    """A way to make tokenizers of an encoding, and the count that tiktoken makes with all of its tokens."""
    pytest.importorskip("bpe_openai")
    row = ENCODINGS[request.param]
    vocabulary, _ = find_vocabulary(RankFilePaths(str(tmp_path_factory.mktemp("cache")), None, INSTALLED), row)
    tokens = vocabulary.load()
    ranks = {token: rank for rank, token in enumerate(tokens)}
    whole = load("tiktoken:Encoding")(row.name, pat_str=row.pattern, mergeable_ranks=ranks, special_tokens={})
    return (lambda: ExactTokenizer(row, Loaded(tokens))), (lambda text: len(whole.encode_ordinary(text)))


@pytest.fixture
def builds(monkeypatch):
    """How many tokens each encoding was built with."""
    made = []
    encoding = load("tiktoken:Encoding")

    def build(name, *, mergeable_ranks, **options):
        made.append(len(mergeable_ranks))
        return encoding(name, mergeable_ranks=mergeable_ranks, **options)

    monkeypatch.setattr("tiktoken.Encoding", build)
    return made


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
def test_no_piece_of_a_text_is_cut_by_its_chunks(name, text):
    """What the whole rests on: merging looks at nothing but parts of pieces."""
    pieces = pytest.importorskip("regex").findall(ENCODINGS[name].pattern, text)
    chunks = chunks_of(text)
    assert all(any(piece in chunk for chunk in chunks) for piece in pieces)


def test_the_parts_of_a_chunk_are_all_that_can_be_a_token():
    assert parts_of({"abc", "é"}) == {b"a", b"b", b"c", b"ab", b"bc", b"abc", b"\xc3", b"\xa9", b"\xc3\xa9"}
    assert max(map(len, parts_of({"-" * 300}) or ())) == MAX_TOKEN_BYTES


def test_a_megabyte_without_a_space_has_too_many_parts():
    assert parts_of({"x" * 1_000_000}) is None


def test_no_token_is_longer_than_the_longest_part(both):
    make, _ = both
    assert max(map(len, make()._vocabulary.load())) == MAX_TOKEN_BYTES


def test_texts_that_were_announced_are_built_for_at_once(both, builds):
    tokenizer = both[0]()
    announced = [f"word{number} of turn {'x' * number}" for number in range(20)]
    tokenizer.prepare(announced)
    for text in (*announced, "word3 of", "word"):
        tokenizer.count(text)
    assert len(builds) == 1
    assert builds[0] < 2_000


def test_after_some_surprises_the_whole_is_built_once(both, builds):
    tokenizer = both[0]()
    for text in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"):
        tokenizer.count(text)
    assert len(builds) == 5
    assert builds[-1] > 100_000


def test_a_lot_of_text_is_counted_with_the_whole(both, builds):
    tokenizer, whole = both
    text = "some words and 12 numbers, " * 30_000
    assert tokenizer().count(text) == whole(text)
    assert builds[0] > 100_000
