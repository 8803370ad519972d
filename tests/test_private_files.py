"""Files of the cache are written atomically and are readable by the owner only."""

from __future__ import annotations

import os

import pytest

from scopes.regular_file import write_private_file


def test_a_file_and_its_directories_are_readable_by_the_owner_only(tmp_path):
    path = tmp_path / "a" / "b"
    write_private_file(str(path), b"data")
    assert path.read_bytes() == b"data"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_an_existing_file_is_replaced_atomically(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"older and longer")
    with path.open("rb") as reader:
        write_private_file(str(path), b"new")
        assert reader.read() == b"older and longer"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"new", ["file"])


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "other").write_bytes(b"other")
    os.symlink("other", tmp_path / "file")
    write_private_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "other").read_bytes() == b"other"


def test_an_existing_path_stays_if_writing_fails(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "file").is_dir()
