"""Which recorded directories are of a project that somebody has named."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Ambiguous
from scopes.store.projects import names_of, normalise_url, read_project, read_remote_urls
from tests.support.pipes import named_pipe

ELSEWHERE = ["/alice/shop", "/alice/shop/api", "/alice/shopping", "/bob/x/Shop", "C:\\work\\shop", None, "", "shop/x"]


def checkout(path, url=None):
    """Make a directory with a git repository that names a remote, and return its path."""
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "config").write_text("" if url is None else f'[remote "origin"]\nurl = {url}\n')
    return str(path)


def chosen(path):
    """Choose the project of a directory."""
    return read_project(str(path), "/")


def test_a_name_is_the_last_part_of_a_directory_and_what_is_below_it_there():
    assert read_project("shop", "/").find(ELSEWHERE) == {
        "/alice/shop",
        "/alice/shop/api",
        "/bob/x/Shop",
        "C:\\work\\shop",
    }


def test_a_name_in_the_middle_of_a_path_is_not_enough():
    assert read_project("alice", "/").find(ELSEWHERE) == set()


def test_a_directory_that_exists_has_all_its_names(tmp_path):
    here = chosen(checkout(tmp_path / "code", "git@host:team/shop.git"))
    assert (here.names, here.urls) == ({"code", "shop"}, {"host/team/shop"})
    assert here.find([*ELSEWHERE, "/alice/code"]) == read_project("shop", "/").find(ELSEWHERE) | {"/alice/code"}


def test_a_directory_that_does_not_exist_is_only_itself_and_what_is_below():
    assert chosen("/alice/shop").find(ELSEWHERE) == {"/alice/shop", "/alice/shop/api"}


def test_another_clone_of_the_repository_is_the_same_project_whatever_its_name(tmp_path):
    tops = [
        checkout(tmp_path / "shop", "git@host:team/shop.git"),
        checkout(tmp_path / "copy", "https://host/team/shop"),
    ]
    for top in tops:
        assert chosen(top).find(tops) == set(tops)
    assert read_project("https://HOST/team/shop.git", "/").find(tops) == set(tops)


@pytest.mark.parametrize("url", [None, "git@host:else/shop"])
def test_another_repository_here_of_the_same_name_is_not(tmp_path, url):
    top = checkout(tmp_path / "a" / "shop", "git@host:team/shop.git")
    other = checkout(tmp_path / "b" / "shop", url)
    assert chosen(top).find([top, other]) == {top}


def test_a_directory_below_the_top_is_of_its_repository(tmp_path):
    top = checkout(tmp_path / "shop")
    (tmp_path / "shop" / "api").mkdir()
    assert chosen(f"{top}/api").find([top, f"{top}/api"]) == {top, f"{top}/api"}


def test_directories_without_addresses_share_a_name(tmp_path):
    tops = [checkout(tmp_path / each / "shop") for each in "ab"]
    assert read_project("shop", "/").find(tops) == set(tops)


def test_known_repositories_of_one_name_are_ambiguous_and_clones_are_not(tmp_path):
    one, copy, two = (
        checkout(tmp_path / each / "shop", f"git@host:{team}/shop")
        for each, team in [("a", "x"), ("b", "x"), ("c", "y")]
    )
    assert read_project("shop", "/").find([one, copy]) == {one, copy}
    with pytest.raises(Ambiguous, match="shop is the name of 3 projects here") as caught:
        read_project("shop", "/").find([one, copy, two])
    assert f"--project {one}" in caught.value.hint
    assert f"{two} (host/y/shop)" in caught.value.hint


def test_names_are_those_of_the_projects_once_and_sorted(tmp_path):
    top = checkout(tmp_path / "web")
    (tmp_path / "web" / "api").mkdir()
    assert names_of([f"{top}/api", top, "/alice/shop", None]) == ["shop", "web"]


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
