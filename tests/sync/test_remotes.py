"""The list of remotes is a file of the store that git never reads; what is in it is checked again."""

from __future__ import annotations

import json
import os

import pytest

from scopes.conversation.store import set_setting
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused
from scopes.store.config import DEFAULT_REMOTE
from scopes.store.refs import REMOTES, REMOTES_FILE
from scopes.store.transactions import exclusive_write
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import remove_remote, show_remotes
from scopes.sync.names import parse_remote_name
from scopes.sync.remotes import MAX_REMOTES, Remote, list_remotes, remote_option, resolve_remote, save_remote
from tests.support.pipes import named_pipe
from tests.support.remotes import add, push_to
from tests.support.store import git, read_bytes, write_bytes

ADDRESS = parse_address("https://host/talks.git")


def path_of(repository):
    """Return the path of the file."""
    return os.path.join(repository.path, REMOTES_FILE)


def test_remotes_are_listed_by_name(repository):
    add(repository, "https://host/talks.git", "origin")
    add(repository, "/srv/talks.git", "backup")
    rows = [(row.name, row.address, row.transport, row.conversations) for row in show_remotes(repository).remotes]
    assert rows == [
        ("backup", "/srv/talks.git", "directory", 0),
        ("origin", "https://host/talks.git", "https", 0),
    ]


def test_a_store_has_no_remote_at_first(repository):
    assert list_remotes(repository) == ()
    with pytest.raises(NotFound, match="no remote"):
        resolve_remote(repository, None)


def test_the_configuration_of_git_is_not_touched(repository):
    before = read_bytes(os.path.join(repository.path, "config"))
    add(repository, "https://host/talks.git")
    assert read_bytes(os.path.join(repository.path, "config")) == before
    assert git(repository, "remote") == ""


def test_the_default_remote_is_origin_or_else_the_first_one(repository):
    add(repository, "/a", "backup")
    assert resolve_remote(repository, None).name == "backup"
    add(repository, "/b", "another")
    assert resolve_remote(repository, None).name == "backup"
    add(repository, "/c", "origin")
    assert resolve_remote(repository, None).name == "origin"
    assert resolve_remote(repository, "another").name == "another"
    with pytest.raises(NotFound, match="no remote 'x'"):
        resolve_remote(repository, "x")


def test_without_the_first_remote_an_error_says_how_to_choose_the_default(repository):
    for name in ("backup", "team", "usb"):
        add(repository, "/a", name)
    remove_remote(repository, "backup")
    with pytest.raises(Ambiguous, match="several remotes") as caught:
        resolve_remote(repository, None)
    assert "scopes push NAME" in caught.value.hint
    assert "scopes config scopes.defaultRemote NAME; remotes: team, usb" in caught.value.hint
    remove_remote(repository, "usb")
    assert resolve_remote(repository, None).name == "team"


def test_several_remotes_of_an_older_version_have_no_default(repository):
    write_bytes(path_of(repository), b'{"v":1,"remotes":{"a":"/a","b":"/b"}}')
    with pytest.raises(Ambiguous):
        resolve_remote(repository, None)
    assert [row.default for row in show_remotes(repository).remotes] == [False, False]


def test_the_setting_names_the_default_remote(repository, tmp_path):
    add(repository, "/a", "origin")
    add(repository, "/b", "team")
    set_setting(repository, str(tmp_path), DEFAULT_REMOTE, "team", level="store")
    assert resolve_remote(repository, None).name == "team"
    assert [(row.name, row.default) for row in show_remotes(repository).remotes] == [("origin", False), ("team", True)]
    assert (remote_option(repository, "team"), remote_option(repository, "origin")) == ("", " origin")


def test_a_default_remote_that_does_not_exist_is_not_replaced_by_another_one(repository, tmp_path):
    """What is meant for one remote must not go to another one."""
    add(repository, "/a", "origin")
    set_setting(repository, str(tmp_path), DEFAULT_REMOTE, "team", level="store")
    with pytest.raises(NotFound, match="the default remote 'team' does not exist") as caught:
        resolve_remote(repository, None)
    assert "remotes: origin" in caught.value.hint


@pytest.mark.parametrize("again", ["origin", "Origin"])
def test_a_name_is_given_once(repository, again):
    add(repository, "/a")
    with pytest.raises(Refused, match="already"):
        add(repository, "/b", again)


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "..", "x.lock", "HEAD", "a\n", "x" * 65, "é", "CON"])
def test_a_name_that_is_not_valid_is_refused(name):
    with pytest.raises(Invalid):
        parse_remote_name(name)


def test_there_is_a_limit_to_the_number_of_remotes(repository):
    many = {f"r{number}": "/a" for number in range(MAX_REMOTES)}
    write_bytes(path_of(repository), json.dumps({"v": 1, "remotes": many}).encode())
    with exclusive_write(repository), pytest.raises(Refused, match="at most"):
        save_remote(repository, Remote("one-more", ADDRESS))


def test_a_removed_remote_takes_what_is_known_about_it_along(ours):
    push_to(ours)
    assert show_remotes(ours).remotes[0].conversations == 1
    removed = remove_remote(ours, "origin")
    assert removed.change == "removed"
    assert (list_remotes(ours), ours.list_refs(REMOTES)) == ((), {})
    with pytest.raises(NotFound):
        remove_remote(ours, "origin")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"v":2,"remotes":{}}',
        b'{"v":1,"remotes":{"a":7}}',
        b'{"v":1,"remotes":{},"first":7}',
        b"[" * 9999,
    ],
    ids=ascii,
)
def test_a_damaged_list_is_refused(repository, data):
    write_bytes(path_of(repository), data)
    with pytest.raises(Corrupt, match=r"remotes\.json cannot be read"):
        list_remotes(repository)


@pytest.mark.parametrize("address", ["ext::sh -c x", "-x", "https://a:b@host/x"])
def test_an_address_that_somebody_wrote_into_the_file_is_checked_and_can_be_removed(repository, address):
    add(repository, "/a", "good")
    remotes = {"bad": address, "good": "/a"}
    write_bytes(path_of(repository), json.dumps({"v": 1, "remotes": remotes}).encode())
    with pytest.raises(Corrupt, match="'bad'"):
        resolve_remote(repository, "bad")
    assert resolve_remote(repository, "good").address.text == "/a"
    remove_remote(repository, "bad")
    assert [remote.name for remote in list_remotes(repository)] == ["good"]


def test_a_name_that_somebody_wrote_into_the_file_is_checked(repository):
    write_bytes(path_of(repository), b'{"v":1,"remotes":{"../x":"/a"}}')
    with pytest.raises(Corrupt):
        list_remotes(repository)


def test_a_list_that_is_a_pipe_keeps_nobody_waiting(repository):
    with named_pipe(path_of(repository)), pytest.raises(Corrupt):
        list_remotes(repository)
