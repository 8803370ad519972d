"""Compressed transcripts are read as plain text."""

from __future__ import annotations

import sys

import pytest

from scopes.errors import CannotImport
from scopes.importers.formats import compressed
from scopes.importers.formats.compressed import open_plain, plain_size

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = b'{"n":1}\n{"n":2}\n' * 1000


def pack(path, data=LINES, pieces=1):
    size = max(1, len(data) // pieces)
    path.write_bytes(b"".join(zstd.compress(data[at : at + size]) for at in range(0, len(data), size)))
    return str(path), path.stat().st_size


def test_the_plain_bytes_are_read(tmp_path):
    path, _ = pack(tmp_path / "a.jsonl.zst")
    with open_plain(path) as stream:
        assert stream.readline() == b'{"n":1}\n'
        assert stream.read() == LINES[8:]


def test_the_plain_bytes_are_counted(tmp_path):
    """Offsets are those of the plain text."""
    assert plain_size(*pack(tmp_path / "a.jsonl.zst")) == len(LINES)
    assert plain_size(*pack(tmp_path / "b.jsonl.zst", pieces=3)) == len(LINES)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-5],
        lambda data: data[:20],
        lambda _: b"{}\n",
        lambda data: data[:9] + b"\xff\xff" + data[11:],
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "a.jsonl.zst"
    pack(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CannotImport, match="cannot be decompressed"):
        plain_size(str(path), path.stat().st_size)


def test_a_file_with_an_extreme_compression_ratio_is_refused(tmp_path, monkeypatch):
    """C-34: a plain size of over 1000 times the compressed size."""
    monkeypatch.setattr(compressed, "_UNSUSPICIOUS_BYTES", 1000)
    path, size = pack(tmp_path / "a.jsonl.zst", b"x" * 10_000_000)
    with pytest.raises(CannotImport, match="too large when decompressed"):
        plain_size(path, size)


def test_an_empty_file_has_no_bytes(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstd.compress(b""))
    assert plain_size(str(path), path.stat().st_size) == 0
