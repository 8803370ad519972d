"""`init`: create a store."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.conversation.store import init
from scopes.errors import Invalid
from tests.support.store import files_of, git, open_store


def test_a_new_store_can_be_used(tmp_path):
    path = str(tmp_path / "deep" / "s.git")
    result = init(path)
    assert (result.path, result.created) == (path, True)
    assert new(open_store(path)).id == "conv-001"


def test_a_store_is_a_bare_git_repository_with_scopes_settings(tmp_path):
    """Storage format."""
    path = str(tmp_path / "s.git")
    init(path)
    for key, value in {
        "core.bare": "true", "core.logAllRefUpdates": "always", "gc.auto": "0",
        "scopes.formatVersion": "2",
    }.items():  # fmt: skip
        assert git(path, "config", key).strip() == value
    assert git(path, "fsck", "--strict") == ""


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077])
def test_only_the_owner_can_read_a_store(tmp_path, mask):
    """P13."""
    before = os.umask(mask)
    try:
        init(str(tmp_path / "s.git"))
    finally:
        os.umask(before)
    for top, directories, files in os.walk(tmp_path / "s.git"):
        for name in directories + files:
            assert not os.stat(os.path.join(top, name)).st_mode & 0o077, name
    assert os.stat(tmp_path / "s.git").st_mode & 0o777 == 0o700


def test_init_does_not_change_an_existing_store(repository):
    new(repository)
    before = files_of(repository.path)
    result = init(repository.path)
    assert (result.path, result.created) == (repository.path, False)
    assert files_of(repository.path) == before


def test_an_empty_directory_becomes_a_store(tmp_path):
    (tmp_path / "s.git").mkdir()
    assert init(str(tmp_path / "s.git")).created


@pytest.mark.parametrize(
    "make", [lambda p: p.write_text("x"), lambda p: (p.mkdir(), (p / "a").touch()), lambda p: p.symlink_to("nowhere")]
)
def test_a_path_that_is_not_a_store_is_refused_and_not_changed(tmp_path, make):
    place = tmp_path / "s.git"
    make(place)
    with pytest.raises(Invalid, match="exists and is not a scopes store") as refusal:
        init(str(place))
    assert refusal.value.hint == "choose another path with --store"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s.git"]
