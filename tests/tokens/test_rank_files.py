"""Rank files are searched in a fixed order and verified."""

from __future__ import annotations

import gzip
import os
from hashlib import sha1, sha256

import pytest

from scopes.tokens.count import ENCODINGS, RankFilePaths, find_ranks, walk_rank_files
from tests.tokens.conftest import INSTALLED, skip_without_rank_files

ENCODING = ENCODINGS["o200k_base"]._replace(sha256=sha256(b"ranks").hexdigest())


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
    return [(file.origin, data) for file, data in walk_rank_files(paths, ENCODING)]


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


def test_the_content_of_a_right_file_is_found_and_a_wrong_one_named(tmp_path):
    paths = fill(tmp_path)
    assert find_ranks(paths, ENCODING) == (b"ranks", ())
    put(tmp_path / "tiktoken" / sha1(ENCODING.url.encode()).hexdigest(), b"rinks")
    data, notes = find_ranks(paths, ENCODING)
    assert data == b"ranks"
    assert "is not o200k_base and was not used" in notes[0].text


def test_without_rank_files_there_are_no_ranks(tmp_path):
    assert find_ranks(RankFilePaths(str(tmp_path)), ENCODING) == (None, ())


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_real_rank_files_are_found(name, tmp_path):
    skip_without_rank_files()
    data, notes = find_ranks(RankFilePaths(str(tmp_path), None, INSTALLED), ENCODINGS[name])
    assert notes == ()
    assert data.count(b"\n") > 100_000
