"""`tokens fetch` downloads a rank file and writes it only if its hash is right; `tokens status` lists the files."""

from __future__ import annotations

import os
import stat
from hashlib import sha256

import pytest

from scopes.context.count import fetch_ranks, tokens_status
from scopes.errors import Corrupt, Inaccessible, Invalid
from scopes.tokens import count as fetch
from scopes.tokens.count import ENCODINGS, RankFilePaths, walk_rank_files

RANKS = b"aGVsbG8= 0\n"


@pytest.fixture
def small(monkeypatch):
    """Replace o200k by an encoding of one token."""
    encoding = ENCODINGS["o200k_base"]._replace(sha256=sha256(RANKS).hexdigest())
    monkeypatch.setitem(fetch.ENCODINGS, "o200k_base", encoding)
    return encoding


def test_a_fetched_rank_file_is_found(small, nowhere):
    urls = []
    seen = fetch_ranks(nowhere, "o200k_base", lambda url: urls.append(url) or RANKS)
    assert (seen.path, seen.size, urls) == (nowhere.own_file(small), len(RANKS), [small.url])
    assert [data for _, data in walk_rank_files(nowhere, small)] == [RANKS]
    assert tokens_status(nowhere).encodings[0].exact
    assert stat.S_IMODE(os.stat(seen.path).st_mode) == 0o600


def test_data_with_a_wrong_hash_is_not_written(small, nowhere):
    with pytest.raises(Corrupt, match="hash"):
        fetch_ranks(nowhere, "o200k_base", lambda url: b"<html>sign in first</html>")
    assert list(walk_rank_files(nowhere, small)) == []


def test_an_unknown_encoding_is_refused(nowhere):
    with pytest.raises(Invalid) as refusal:
        fetch_ranks(nowhere, "morse", lambda url: RANKS)
    assert refusal.value.hint == "encodings: o200k_base, cl100k_base"


def test_a_cache_that_cannot_be_written_is_an_error(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Inaccessible):
        fetch_ranks(RankFilePaths(str(tmp_path / "file")), "o200k_base", lambda url: RANKS)


def test_no_temporary_file_is_left(small, nowhere):
    path = fetch_ranks(nowhere, "o200k_base", lambda url: RANKS).path
    assert os.listdir(os.path.dirname(path)) == ["o200k_base.tiktoken"]


def test_the_status_lists_every_encoding_and_a_file_with_a_wrong_hash(nowhere):
    own = nowhere.own_file(ENCODINGS["cl100k_base"])
    os.makedirs(os.path.dirname(own))
    with open(own, "wb") as file:
        file.write(b"wrong")
    rows = tokens_status(nowhere).encodings
    assert [(row.name, row.exact, [f.right for f in row.files]) for row in rows] == [
        ("o200k_base", False, []),
        ("cl100k_base", False, [False]),
    ]
