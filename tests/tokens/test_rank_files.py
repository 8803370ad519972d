"""Where rank files come from, in which order, and what becomes of a wrong one."""

from __future__ import annotations

import gzip
import os
from hashlib import sha1, sha256

from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, walk_rank_files

ENCODING = ENCODINGS["o200k_base"]._replace(sha256=sha256(b"ranks").hexdigest())


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def fill(tmp_path, data=b"ranks"):
    """Put a file into every place."""
    places = RankFilePaths(
        str(tmp_path / "own"), str(tmp_path / "tiktoken"), (str(tmp_path / "a"), str(tmp_path / "b"))
    )
    put(tmp_path / "tiktoken" / sha1(ENCODING.url.encode()).hexdigest(), data)
    put(tmp_path / "own" / "tokens" / "o200k_base.tiktoken", data)
    put(tmp_path / "b" / "bpe_openai" / "data" / "o200k_base.tiktoken.gz", gzip.compress(data))
    return places


def found(places):
    return [(f.origin, f.data) for f in walk_rank_files(places, ENCODING)]


def test_the_cache_of_tiktoken_comes_first_then_ours_then_a_carrier(tmp_path):
    assert found(fill(tmp_path)) == [("tiktoken", b"ranks"), ("cache", b"ranks"), ("carrier", b"ranks")]


def test_a_file_with_a_wrong_hash_is_named_and_gives_nothing(tmp_path):
    assert found(fill(tmp_path, b"rinks")) == [("tiktoken", None), ("cache", None), ("carrier", None)]


def test_where_there_is_no_file_there_is_nothing(nowhere):
    assert found(nowhere) == []


def test_a_pipe_a_directory_and_a_broken_archive_are_no_rank_files(tmp_path):
    places = fill(tmp_path)
    own = tmp_path / "own" / "tokens" / "o200k_base.tiktoken"
    own.unlink()
    os.mkfifo(own)
    tiktoken = next((tmp_path / "tiktoken").iterdir())
    tiktoken.unlink()
    tiktoken.mkdir()
    (tmp_path / "b" / "bpe_openai" / "data" / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(b"ranks")[:-9])
    assert found(places) == [("tiktoken", None), ("cache", None), ("carrier", None)]


def test_a_package_that_carries_the_data_is_not_imported(tmp_path):
    places = fill(tmp_path)
    put(tmp_path / "b" / "bpe_openai" / "__init__.py", b"raise SystemExit('imported')")
    assert found(places)[-1] == ("carrier", b"ranks")
