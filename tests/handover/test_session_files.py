"""The file of a session appears complete, and never in the place of another one."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Inaccessible, Refused
from scopes.handover.registration import delete_unchanged, digest_of_file, prepared_session
from scopes.secret_scan.clearance import Gate

CONTENT = Gate("allow", lambda _rule, _value: "").clear(b"new\n", "a session")


def test_a_file_appears_when_it_is_placed_and_nothing_else_stays(tmp_path):
    path = tmp_path / "sessions" / "a.jsonl"
    with prepared_session(str(path), CONTENT, replaces=False) as place:
        assert not path.exists()
        place()
    assert path.read_bytes() == b"new\n"
    assert [each.name for each in path.parent.iterdir()] == ["a.jsonl"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_stays_if_it_is_not_placed(tmp_path):
    with pytest.raises(ValueError, match="no"), prepared_session(str(tmp_path / "a"), CONTENT, replaces=False):
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_was_just_made_is_not_replaced(tmp_path, monkeypatch, has_links):
    """Also on a file system without hard links."""
    if not has_links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links")))
    path = tmp_path / "a"
    with prepared_session(str(path), CONTENT, replaces=False) as place:
        path.write_bytes(b"mine")
        with pytest.raises(Refused, match="already exists"):
            place()
    assert path.read_bytes() == b"mine"


def test_a_file_system_without_hard_links_gets_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links")))
    with prepared_session(str(tmp_path / "a"), CONTENT, replaces=False) as place:
        place()
    assert (tmp_path / "a").read_bytes() == b"new\n"


def test_one_that_may_be_replaced_is(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with prepared_session(str(tmp_path / "a"), CONTENT, replaces=True) as place:
        place()
    assert (tmp_path / "a").read_bytes() == b"new\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    path = str(tmp_path / "file" / "a")
    with pytest.raises(Inaccessible, match=f"cannot write {path}"), prepared_session(path, CONTENT, replaces=False):
        pass


def test_what_is_no_file_has_no_digest(tmp_path):
    assert digest_of_file(str(tmp_path / "a")) is None
    with pytest.raises(Refused, match="is not a file"):
        digest_of_file(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="is not a file"):
        digest_of_file(str(tmp_path / "pipe"))


def test_only_a_file_that_is_as_it_was_written_is_deleted(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"new\n")
    digest = digest_of_file(str(path))
    path.write_bytes(b"new\nmore\n")
    assert not delete_unchanged(str(path), digest)
    path.write_bytes(b"new\n")
    assert delete_unchanged(str(path), digest)
    assert not path.exists()
    assert not delete_unchanged(str(path), digest)
    assert not delete_unchanged(str(tmp_path), digest)
