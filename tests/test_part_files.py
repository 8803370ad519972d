"""What killed processes leave of files that they were writing is deleted, and nothing else."""

from __future__ import annotations

import os

import pytest

from scopes.clock import new_id
from scopes.part_files import lock_part, part_of, remove_parts
from tests.support.random_ids import spread_ids  # noqa: F401 - parts have different names


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "file+.txt")


def make(path):
    with open(path, "w") as file:
        file.write("a part")
    return path


def test_a_part_has_the_name_of_its_file_and_is_a_new_one(path):
    assert part_of(path).startswith(f"{path}.")
    assert part_of(path) != part_of(path)


def test_every_part_of_a_file_is_deleted(path):
    parts = [make(part_of(path)) for _ in range(3)]
    remove_parts(path)
    assert not any(map(os.path.exists, parts))


def test_other_files_stay(path):
    kept = [path, f"{path}.part", f"{path}.x.part", f"{path}.{new_id()}", part_of(path) + "x", part_of(path[:-4] + "x")]
    for each in kept:
        make(each)
    remove_parts(path)
    assert all(map(os.path.exists, kept))


def test_the_part_of_a_running_process_stays(path):
    part = part_of(path)
    with open(part, "w") as file:
        lock_part(file.fileno())
        remove_parts(path)
        assert os.path.exists(part)
    remove_parts(path)
    assert not os.path.exists(part)


def test_a_link_or_a_directory_with_such_a_name_stays_and_hides_no_other(path, tmp_path):
    os.symlink(make(str(tmp_path / "own")), part_of(path))
    os.mkdir(part_of(path))
    part = make(part_of(path))
    remove_parts(path)
    assert not os.path.exists(part)
    assert sorted(os.path.islink(each) or each.is_dir() for each in tmp_path.iterdir()) == [False, True, True]
    assert (tmp_path / "own").read_text() == "a part"


def test_a_directory_that_is_not_there_has_none(path):
    remove_parts(os.path.join(path, "gone"))


def test_a_file_of_the_current_directory_is_one_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(part_of("here"))
    remove_parts("here")
    assert os.listdir(tmp_path) == []
