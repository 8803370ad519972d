"""Writing a setting: exact bytes, sync, and the lock file of a dead writer."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Busy, Corrupt, Inaccessible
from scopes.store import config as config_write
from scopes.store import transactions as recovery
from scopes.store.config import open_user_file, write_setting
from tests.support.store import git, open_store, read_bytes, write_bytes


def write(repository, value):
    return write_setting(repository.config.store_level(), path_of(repository), "scopes.author", value)


def path_of(repository):
    return os.path.join(repository.path, "config")


def test_a_setting_is_written_and_removed(repository):
    assert write(repository, "carol") is True
    assert open_store(repository).config.find("scopes.author") == "carol"
    assert write(repository, None) is True
    assert write(repository, None) is False
    assert open_store(repository).config.find("scopes.author") is None


@pytest.mark.parametrize(
    "value", ["", " padded ", 'quo"te', "back\\slash", "new\nline", "# no comment", "; nor this", "é\U0001f600"]
)
def test_every_value_is_read_back_unchanged(repository, value):
    write(repository, value)
    assert open_store(repository).config.find("scopes.author") == value
    assert git(repository, "config", "-z", "scopes.author") == value + "\0"


def test_the_lock_file_of_a_dead_writer_is_removed(repository, monkeypatch):
    """P4: a lock file that does not change for a second belongs to no living writer."""
    monkeypatch.setattr(recovery, "_ORPHAN_AFTER_SECONDS", 0.05)
    write_bytes(path_of(repository) + ".lock", b"half a configur")
    assert write(repository, "carol") is True
    assert open_store(repository).config.find("scopes.author") == "carol"


def test_a_file_locked_by_a_living_writer_is_busy_and_unchanged(repository, monkeypatch):
    before = read_bytes(path_of(repository))
    write_bytes(path_of(repository) + ".lock", b"")
    monkeypatch.setattr(recovery, "remove_orphans", lambda paths: [])
    with pytest.raises(Busy, match=r"cannot write the setting scopes\.author"):
        write(repository, "carol")
    assert read_bytes(path_of(repository)) == before


def test_the_file_is_synced_before_the_command_returns(repository, monkeypatch):
    """P1: an empty config after a power cut would hide every message."""
    synced = []
    monkeypatch.setattr(config_write, "sync", synced.append)
    write(repository, "carol")
    assert synced == [path_of(repository), repository.path]


def test_a_failed_sync_leaves_the_setting_and_is_reported(repository, monkeypatch):
    """P2: the error says that the setting was written anyway."""
    monkeypatch.setattr(config_write, "sync", lambda path: os.stat(path + "/gone"))
    with pytest.raises(Inaccessible, match="was written, but could not be synced"):
        write(repository, "carol")
    assert open_store(repository).config.find("scopes.author") == "carol"


def test_the_first_write_creates_the_user_configuration(tmp_path):
    write_setting(open_user_file(str(tmp_path)), str(tmp_path / ".gitconfig"), "scopes.author", "carol")
    assert "author = carol" in (tmp_path / ".gitconfig").read_text()


def test_a_missing_directory_is_inaccessible(tmp_path):
    gone = tmp_path / "gone"
    with pytest.raises((Inaccessible, Corrupt)):
        write_setting(open_user_file(str(gone)), str(gone / ".gitconfig"), "scopes.author", "carol")
