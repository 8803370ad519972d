"""Rank files are searched in a fixed order and verified; decoded tokens are cached and verified too."""

from __future__ import annotations

import gzip
import marshal
import os
from base64 import b64encode
from hashlib import sha1, sha256

import pytest

from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, find_vocabulary, walk_rank_files
from tests.tokens.conftest import INSTALLED, skip_without_rank_files

ENCODING = ENCODINGS["o200k_base"]._replace(sha256=sha256(b"ranks").hexdigest())
TOKENS = (b"a", b"b\n", b"\xff", b"ab")
RANKS = b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(TOKENS))
SMALL = ENCODINGS["o200k_base"]._replace(
    sha256=sha256(RANKS).hexdigest(), decoded_sha256=sha256(marshal.dumps(TOKENS, 2)).hexdigest()
)


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def fill(tmp_path, data=b"ranks"):
    """Put a file into every directory that is searched."""
    paths = RankFilePaths(str(tmp_path / "own"), str(tmp_path / "tiktoken"), (str(tmp_path / "a"), str(tmp_path / "b")))
    put(tmp_path / "tiktoken" / sha1(ENCODING.url.encode()).hexdigest(), data)
    put(tmp_path / "own" / "tokens" / "o200k_base.tiktoken", data)
    put(tmp_path / "b" / "bpe_openai" / "data" / "o200k_base.tiktoken.gz", gzip.compress(data))
    return paths


def origins_and_data(paths):
    return [(file.origin, file.data) for file in walk_rank_files(paths, ENCODING)]


def test_tiktokens_cache_is_searched_first_then_ours_then_packages(tmp_path):
    assert origins_and_data(fill(tmp_path)) == [("tiktoken", b"ranks"), ("cache", b"ranks"), ("carrier", b"ranks")]


def test_a_file_with_a_wrong_hash_is_listed_without_data(tmp_path):
    assert origins_and_data(fill(tmp_path, b"rinks")) == [("tiktoken", None), ("cache", None), ("carrier", None)]


def test_without_rank_files_none_are_listed(nowhere):
    assert origins_and_data(nowhere) == []


def test_a_pipe_a_directory_and_a_broken_gzip_file_have_no_data(tmp_path):
    paths = fill(tmp_path)
    own = tmp_path / "own" / "tokens" / "o200k_base.tiktoken"
    own.unlink()
    os.mkfifo(own)
    tiktoken = next((tmp_path / "tiktoken").iterdir())
    tiktoken.unlink()
    tiktoken.mkdir()
    (tmp_path / "b" / "bpe_openai" / "data" / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(b"ranks")[:-9])
    assert origins_and_data(paths) == [("tiktoken", None), ("cache", None), ("carrier", None)]


def test_a_package_with_rank_files_is_not_imported(tmp_path):
    paths = fill(tmp_path)
    put(tmp_path / "b" / "bpe_openai" / "__init__.py", b"raise SystemExit('imported')")
    assert origins_and_data(paths)[-1] == ("carrier", b"ranks")


@pytest.fixture
def paths(tmp_path):
    """Return search paths of a cache with a rank file."""
    os.makedirs(tmp_path / "tokens")
    (tmp_path / "tokens" / "o200k_base.tiktoken").write_bytes(RANKS)
    return RankFilePaths(str(tmp_path))


@pytest.fixture
def decoded(paths, tmp_path):
    """Cache the decoded tokens; return the path of the file."""
    load_tokens(paths)
    return tmp_path / "tokens" / "o200k_base.decoded"


def load_tokens(paths):
    vocabulary, notes = find_vocabulary(paths, SMALL)
    assert notes == ()
    return None if vocabulary is None else tuple(vocabulary.load())


def test_tokens_have_the_order_of_the_rank_file(paths):
    assert load_tokens(paths) == TOKENS


def test_cached_tokens_need_no_rank_file(paths, decoded, tmp_path):
    (tmp_path / "tokens" / "o200k_base.tiktoken").unlink()
    assert load_tokens(paths) == TOKENS


def test_finding_a_vocabulary_writes_nothing(paths, tmp_path):
    find_vocabulary(paths, SMALL)
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
def test_damaged_or_foreign_cached_tokens_are_replaced(paths, decoded, damage):
    right = decoded.read_bytes()
    decoded.write_bytes(damage(right))
    assert load_tokens(paths) == TOKENS
    assert decoded.read_bytes() == right


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_pipe_directory_or_device_in_place_of_the_cache_file_is_ignored(paths, decoded, make):
    decoded.unlink()
    make(decoded)
    assert load_tokens(paths) == TOKENS


def test_tokens_are_loaded_if_the_cache_cannot_be_written(paths, decoded, tmp_path):
    decoded.unlink()
    (tmp_path / "tokens" / f"o200k_base.decoded.{os.getpid()}.new").mkdir()
    assert load_tokens(paths) == TOKENS
    assert not decoded.exists()


def test_cached_tokens_are_readable_by_the_owner_only(decoded):
    assert decoded.stat().st_mode & 0o777 == 0o600


def test_without_rank_files_there_is_no_vocabulary(tmp_path):
    assert find_vocabulary(RankFilePaths(str(tmp_path)), SMALL) == (None, ())


@pytest.mark.parametrize("name", ENCODINGS)
def test_real_rank_files_decode_to_the_expected_hash(name, tmp_path):
    skip_without_rank_files()
    paths = RankFilePaths(str(tmp_path), None, INSTALLED)
    first, _ = find_vocabulary(paths, ENCODINGS[name])
    tokens = first.load()
    again, _ = find_vocabulary(paths._replace(packages=()), ENCODINGS[name])
    assert again is not None
    assert list(again.load()) == list(tokens)
