"""Creating a store: atomic, private, synced, and once."""

from __future__ import annotations

import os
import stat

import pygit2
import pytest

from scopes import regular_file
from scopes.errors import Inaccessible, Invalid
from scopes.store import repository as init
from scopes.store.repository import create_store, is_store, open_repository
from tests.support.store import (
    Process,
    assert_sound,
    files_of,
    git,
    make_branch,
    make_store,
    open_store,
    run,
    write_bytes,
)


def modes(path):
    found = {}
    for top, directories, files in os.walk(path):
        for name in [*directories, *files, "."]:
            found[os.path.normpath(os.path.join(top, name))] = stat.S_IMODE(os.stat(os.path.join(top, name)).st_mode)
    return found


def test_a_new_store_is_an_empty_bare_repository_with_the_settings_of_scopes(tmp_path):
    path = str(tmp_path / "store.git")
    assert create_store(path) is True
    assert is_store(path)
    expected = {
        "core.bare": "true", "core.logallrefupdates": "always", "gc.auto": "0", "scopes.formatversion": "2",
    }  # fmt: skip
    config = dict(line.split("=", 1) for line in git(path, "config", "--file", f"{path}/config", "--list").splitlines())
    assert expected.items() <= config.items()
    assert git(path, "for-each-ref") == ""
    assert_sound(path)


def test_creating_an_existing_store_returns_false(tmp_path):
    path = str(tmp_path / "store.git")
    assert create_store(path) is True
    make_branch(open_store(path), "one")
    before = files_of(path)
    assert create_store(path) is False
    assert files_of(path) == before
    assert os.listdir(tmp_path) == ["store.git"]


def test_an_empty_directory_becomes_a_store(tmp_path):
    (tmp_path / "store.git").mkdir(0o755)
    assert create_store(str(tmp_path / "store.git")) is True
    assert stat.S_IMODE(os.stat(tmp_path / "store.git").st_mode) == 0o700


def test_parent_directories_are_created(tmp_path):
    assert create_store(str(tmp_path / "a" / "b" / "store.git")) is True
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o700


@pytest.mark.parametrize("umask", ["0", "0o22", "0o77"])
def test_all_files_of_a_store_are_readable_by_the_owner_alone(tmp_path, umask):
    """P13: 0700 and 0600, whatever the umask, after appends, operations and packing; objects are read-only."""
    code = f"""
from scopes.store.maintenance import pack
os.umask({umask})
repository = make_store(path)
make_branch(repository, "one")
append(repository, MAIN, lambda tip: write_message(repository, "two", tip), "append")
with exclusive_write(repository): pack(repository)
append(repository, MAIN, lambda tip: write_message(repository, "three", tip), "append")
"""
    path = str(tmp_path / "store.git")
    run(code, path)
    assert {path: mode for path, mode in modes(path).items() if mode & 0o077} == {}


def test_an_existing_path_is_refused_and_unchanged(tmp_path):
    """A file, a directory in use, a repository of the user's."""
    (tmp_path / "file").write_text("precious")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("precious")
    pygit2.init_repository(str(tmp_path / "project"))
    os.symlink(tmp_path / "nowhere", tmp_path / "link")
    before = files_of(str(tmp_path))
    for name in ("file", "full", "project", "link"):
        with pytest.raises(Invalid, match="exists and is not a scopes store"):
            create_store(str(tmp_path / name))
    assert files_of(str(tmp_path)) == before


def test_a_failed_creation_is_reported_and_leaves_nothing(tmp_path):
    write_bytes(tmp_path / "file", b"")
    with pytest.raises(Inaccessible, match="cannot create a store"):
        create_store(str(tmp_path / "file" / "store.git"))
    assert os.listdir(tmp_path) == ["file"]


def test_concurrent_creations_make_one_store(tmp_path):
    """E-51: every one of them may write into it at once."""
    path = str(tmp_path / "store.git")
    code = """
made = create_store(path)
repository = open_store(path)
make_branch(repository, sys.argv[2], ref=HEADS + sys.argv[2])
print(made)
"""
    makers = [Process(code, path, number) for number in range(6)]
    assert sorted(maker.finish() for maker in makers) == ["False"] * 5 + ["True"]
    assert len(open_store(path).list_refs("refs/heads/")) == 6
    assert os.listdir(tmp_path) == ["store.git"]
    assert_sound(path)


def test_a_new_store_is_synced_before_it_is_renamed(tmp_path, monkeypatch):
    """P1: a config that is empty after a power cut would hide every message."""
    synced = []
    monkeypatch.setattr(init, "sync", lambda path: synced.append((path, os.path.lexists(tmp_path / "store.git"))))
    create_store(str(tmp_path / "store.git"))
    names = [(os.path.basename(path), placed) for path, placed in synced]
    assert names == [("config", False), ("HEAD", False), ("", False), (tmp_path.name, True)]


def test_sync_leaves_no_open_descriptor(tmp_path):
    write_bytes(tmp_path / "file", b"x")
    before = os.listdir("/proc/self/fd")
    regular_file.sync(str(tmp_path))
    regular_file.sync(str(tmp_path / "file"))
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(FileNotFoundError):
        regular_file.sync(str(tmp_path / "gone"))


def test_an_interrupted_creation_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(init.os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        create_store(str(tmp_path / "store.git"))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"[core]\n", b"\xff\xfe\0", b"scopes"])
def test_a_directory_without_the_settings_is_not_a_store(tmp_path, content):
    write_bytes(tmp_path / "config", content)
    assert is_store(str(tmp_path)) is False
    assert is_store(str(tmp_path / "gone")) is False
    assert is_store(str(tmp_path / "config")) is False


def test_a_store_may_be_moved(tmp_path):
    make_branch(make_store(tmp_path / "a.git"), "one")
    os.rename(tmp_path / "a.git", tmp_path / "b.git")
    assert len(open_store(tmp_path / "b.git").list_refs("refs/heads/")) == 1


def test_a_store_that_another_process_creates_after_the_first_look_is_found(tmp_path, monkeypatch):
    """Of two first uses at once, one said that its store is none."""
    path = str(tmp_path / "store.git")

    def create_meanwhile(_):
        monkeypatch.undo()
        create_store(path)
        return False

    monkeypatch.setattr("scopes.store.repository.is_clone", create_meanwhile)
    assert create_store(path) is False


def test_a_store_that_another_process_creates_while_it_is_opened_is_found(tmp_path, monkeypatch):
    """The first look finds nothing, the second one a directory: it was said not to be a store."""
    path = str(tmp_path / "store.git")
    looks = []

    def look(place):
        found = is_store(place)
        if not looks:
            run("from scopes.store.repository import create_store; create_store(path)", path)
        looks.append(found)
        return found

    monkeypatch.setattr("scopes.store.repository.is_store", look)
    assert open_repository(path).format_version == init.FORMAT_VERSION
    assert looks[:2] == [False, True]


def test_two_processes_that_create_and_open_stores_never_see_half_of_one(tmp_path):
    opener = Process(
        """
from scopes.errors import NotFound
from scopes.store.repository import open_repository
print("ready", flush=True)
for number in range(150):
    while True:
        try:
            open_repository(f"{path}/{number}.git")
            break
        except NotFound:
            pass
""",
        tmp_path,
    )
    assert opener.read_line() == "ready"
    for number in range(150):
        create_store(str(tmp_path / f"{number}.git"), durable=False)
    assert opener.finish() == ""
