"""The tokens of an encoding are kept decoded, and used only where they are known to be right."""

from __future__ import annotations

import marshal
import os
from base64 import b64encode
from hashlib import sha256

import pytest

from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, find_vocabulary
from tests.context.conftest import INSTALLED

TOKENS = (b"a", b"b\n", b"\xff", b"ab")
RANKS = b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(TOKENS))
SMALL = ENCODINGS["o200k_base"]._replace(
    sha256=sha256(RANKS).hexdigest(), decoded_sha256=sha256(marshal.dumps(TOKENS, 2)).hexdigest()
)


@pytest.fixture
def places(tmp_path):
    """A cache with a rank file."""
    found = RankFilePaths(str(tmp_path))
    os.makedirs(tmp_path / "tokens")
    (tmp_path / "tokens" / "o200k_base.tiktoken").write_bytes(RANKS)
    return found


@pytest.fixture
def decoded(places, tmp_path):
    """Where the tokens were kept."""
    loaded(places)
    return tmp_path / "tokens" / "o200k_base.decoded"


def loaded(places):
    vocabulary, notes = find_vocabulary(places, SMALL)
    assert notes == ()
    return None if vocabulary is None else tuple(vocabulary.load())


def test_the_tokens_are_those_of_the_rank_file_in_its_order(places):
    assert loaded(places) == TOKENS


def test_the_second_time_no_rank_file_is_needed(places, decoded, tmp_path):
    (tmp_path / "tokens" / "o200k_base.tiktoken").unlink()
    assert loaded(places) == TOKENS


def test_nothing_is_kept_before_tokens_are_needed(places, tmp_path):
    find_vocabulary(places, SMALL)
    assert os.listdir(tmp_path / "tokens") == ["o200k_base.tiktoken"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data[:9] + b"?" + data[10:],
        lambda data: marshal.dumps((b"another",), 2),
        lambda data: data + b"more",
    ],
)
def test_tokens_that_are_damaged_or_foreign_are_never_used_and_made_again(places, decoded, damage):
    right = decoded.read_bytes()
    decoded.write_bytes(damage(right))
    assert loaded(places) == TOKENS
    assert decoded.read_bytes() == right


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_is_neither_waited_for_nor_used(places, decoded, make):
    decoded.unlink()
    make(decoded)
    assert loaded(places) == TOKENS


def test_a_cache_that_cannot_be_written_is_no_failure(places, decoded, tmp_path):
    decoded.unlink()
    (tmp_path / "tokens" / f"o200k_base.decoded.{os.getpid()}.new").mkdir()
    assert loaded(places) == TOKENS
    assert not decoded.exists()


def test_only_the_owner_reads_what_is_kept(decoded):
    assert decoded.stat().st_mode & 0o777 == 0o600


def test_without_any_data_there_is_no_vocabulary(tmp_path):
    assert find_vocabulary(RankFilePaths(str(tmp_path)), SMALL) == (None, ())


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_real_encodings_decode_to_the_hash_that_is_known(name, tmp_path):
    pytest.importorskip("bpe_openai")
    places = RankFilePaths(str(tmp_path), None, INSTALLED)
    first, _ = find_vocabulary(places, ENCODINGS[name])
    tokens = first.load()
    again, _ = find_vocabulary(places._replace(packages=()), ENCODINGS[name])
    assert again is not None
    assert list(again.load()) == list(tokens)
