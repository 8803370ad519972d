"""The addresses of a repository have one form, however they are written; its configuration is only read."""

from __future__ import annotations

import os

import pytest

from scopes.store.chosen_projects import is_url, normalise_url, read_remote_urls
from tests.support.pipes import named_pipe

ONE = [
    "git@example.org:team/shop.git", "example.org:team/shop", "ssh://git@example.org/team/shop.git",
    "ssh://git@EXAMPLE.org:2222/team/shop", "https://example.org/team/shop.git/", "https://carol:x@example.org/team/shop",
    "http://example.org:8080/team/shop.git", "git://example.org/team/shop", "git+ssh://git@example.org/team/shop.git",
    "  HTTPS://example.org/team/shop  ",
]  # fmt: skip


@pytest.mark.parametrize("text", ONE)
def test_all_ways_to_write_an_address_are_one(text):
    assert normalise_url(text) == "example.org/team/shop"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shop",
        "/srv/shop.git",
        "./a:b/c",
        "../shop",
        "C:\\work\\shop",
        "https://",
        "https:///x",
        "host:/",
        "a b:c d",
    ],
)
def test_a_directory_or_a_name_is_no_address(text):
    assert normalise_url(text) is None
    assert not is_url(text)


def test_other_hosts_and_other_paths_are_others():
    assert len({normalise_url(f"https://{host}/{path}") for host in ("a", "b") for path in ("x/shop", "y/shop")}) == 4


CONFIG = """\
[core]
\turl = git@host:not/this
[remote "origin"]
\turl = git@host:team/shop.git ; a comment
\tfetch = +refs/heads/*:refs/remotes/origin/*
[REMOTE "fork"] URL = "https://host/fork/shop"
[remote "local"]
\turl = /srv/shop.git
[branch "main"]
\turl = git@host:nor/that
[include]
\tpath = /etc/passwd
"""


def test_the_addresses_of_all_remotes_are_read(tmp_path):
    (tmp_path / "config").write_text(CONFIG)
    assert read_remote_urls(str(tmp_path)) == {"host/team/shop", "host/fork/shop"}


@pytest.mark.parametrize("data", [b"", b"\xff\xfe[remote", b'[remote "x"]\nurl\n', b"[" * 99_999], ids=ascii)
def test_a_configuration_that_is_damaged_has_no_address(tmp_path, data):
    (tmp_path / "config").write_bytes(data)
    assert read_remote_urls(str(tmp_path)) == frozenset()


def test_no_repository_and_no_file_have_no_address(tmp_path):
    assert read_remote_urls(None) == read_remote_urls(str(tmp_path)) == frozenset()


def test_a_pipe_keeps_nobody_waiting(tmp_path):
    with named_pipe(os.fspath(tmp_path / "config")):
        assert read_remote_urls(str(tmp_path)) == frozenset()
