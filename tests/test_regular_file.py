"""Files that somebody else may have put there: nothing waits for a pipe, reads a device, or reads without end."""

from __future__ import annotations

import os
import socket

import pytest

from scopes.regular_file import UnusableFile, check_regular, check_tree, open_descriptor, read_regular


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


IRREGULAR = pytest.mark.parametrize(
    ("make", "words"),
    [(make_pipe, "a named pipe"), (make_device, "a device"), (make_socket, "a socket"), (os.mkdir, "a directory")],
)


@IRREGULAR
def test_what_is_no_regular_file_is_refused_by_its_kind(tmp_path, monkeypatch, make, words):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "file")
    for use in (open_descriptor, check_regular, lambda path: read_regular(path, 10)):
        with pytest.raises(UnusableFile, match=r"No such device|it is") as error:
            use(str(tmp_path / "file"))
        assert words in error.value.strerror or make is make_socket


def test_a_file_that_is_too_large_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(str(tmp_path / "file"), 5) == b"12345"
    for use in (read_regular, check_regular):
        with pytest.raises(UnusableFile, match="larger than 4 bytes"):
            use(str(tmp_path / "file"), 4)


def test_a_missing_file_is_fine_to_check_and_not_to_read(tmp_path):
    check_regular(str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        read_regular(str(tmp_path / "gone"), 1)


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnusableFile):
        check_regular(str(tmp_path / "loop"))


def test_a_tree_of_files_and_directories_is_fine(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "a" / "nowhere").symlink_to("gone")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "self").symlink_to("self")
    check_tree(str(tmp_path))
    check_tree(str(tmp_path / "gone"))
    check_tree(str(tmp_path / "a" / "b" / "file"))


@pytest.mark.parametrize("make", [make_pipe, make_device, make_socket])
@pytest.mark.parametrize("inside", ["file", "a/b/file"])
def test_what_is_no_regular_file_in_a_tree_is_refused_by_its_name(tmp_path, monkeypatch, make, inside):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    make(tmp_path / "top" / inside)
    with pytest.raises(UnusableFile) as error:
        check_tree(str(tmp_path / "top"))
    assert error.value.filename == str(tmp_path / "top" / inside)


def test_a_tree_is_followed_through_links_to_directories(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.mkfifo(tmp_path / "elsewhere" / "pipe")
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to("../elsewhere")
    with pytest.raises(UnusableFile, match="named pipe"):
        check_tree(str(tmp_path / "top"))
