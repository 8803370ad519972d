"""Which recorded directories are of a project that somebody has named."""

from __future__ import annotations

import pytest

from scopes.errors import Ambiguous
from scopes.store.chosen_projects import choose_directory, choose_name, names_of
from scopes.store.projects import find_project

ELSEWHERE = ["/alice/shop", "/alice/shop/api", "/alice/shopping", "/bob/x/Shop", "C:\\work\\shop", None, "", "shop/x"]


def checkout(path, url=None):
    """Make a directory with a git repository that names a remote, and return its path."""
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "config").write_text("" if url is None else f'[remote "origin"]\nurl = {url}\n')
    return str(path)


def chosen(path):
    """Choose the project of a directory."""
    return choose_directory(str(path), find_project(str(path), "/home/nobody"))


def test_a_name_is_the_last_part_of_a_directory_and_what_is_below_it_there():
    assert choose_name("shop").find(ELSEWHERE) == {"/alice/shop", "/alice/shop/api", "/bob/x/Shop", "C:\\work\\shop"}


def test_a_name_in_the_middle_of_a_path_is_not_enough():
    assert choose_name("alice").find(ELSEWHERE) == set()


def test_a_directory_that_exists_has_all_its_names(tmp_path):
    here = chosen(checkout(tmp_path / "code", "git@host:team/shop.git"))
    assert (here.names, here.urls) == ({"code", "shop"}, {"host/team/shop"})
    assert here.find([*ELSEWHERE, "/alice/code"]) == choose_name("shop").find(ELSEWHERE) | {"/alice/code"}


def test_a_directory_that_does_not_exist_is_only_itself_and_what_is_below():
    assert chosen("/alice/shop").find(ELSEWHERE) == {"/alice/shop", "/alice/shop/api"}


def test_another_clone_of_the_repository_is_the_same_project_whatever_its_name(tmp_path):
    tops = [
        checkout(tmp_path / "shop", "git@host:team/shop.git"),
        checkout(tmp_path / "copy", "https://host/team/shop"),
    ]
    for top in tops:
        assert chosen(top).find(tops) == set(tops)
    assert choose_name("https://HOST/team/shop.git").find(tops) == set(tops)


@pytest.mark.parametrize("url", [None, "git@host:else/shop"])
def test_another_repository_here_of_the_same_name_is_not(tmp_path, url):
    top = checkout(tmp_path / "a" / "shop", "git@host:team/shop.git")
    other = checkout(tmp_path / "b" / "shop", url)
    assert chosen(top).find([top, other]) == {top}


def test_a_directory_below_the_top_is_of_its_repository(tmp_path):
    top = checkout(tmp_path / "shop")
    (tmp_path / "shop" / "api").mkdir()
    assert chosen(f"{top}/api").find([top, f"{top}/api"]) == {top, f"{top}/api"}


def test_without_the_names_nothing_of_other_machines_is_found(tmp_path):
    top = checkout(tmp_path / "shop")
    assert chosen(top).here.find([top, *ELSEWHERE]) == {top}


def test_directories_without_addresses_share_a_name(tmp_path):
    tops = [checkout(tmp_path / each / "shop") for each in "ab"]
    assert choose_name("shop").find(tops) == set(tops)


def test_known_repositories_of_one_name_are_ambiguous_and_clones_are_not(tmp_path):
    one, copy, two = (
        checkout(tmp_path / each / "shop", f"git@host:{team}/shop")
        for each, team in [("a", "x"), ("b", "x"), ("c", "y")]
    )
    assert choose_name("shop").find([one, copy]) == {one, copy}
    with pytest.raises(Ambiguous, match="shop is the name of 3 projects here") as caught:
        choose_name("shop").find([one, copy, two])
    assert f"--project {one}" in caught.value.hint
    assert f"{two} (host/y/shop)" in caught.value.hint


def test_names_are_those_of_the_projects_once_and_sorted(tmp_path):
    top = checkout(tmp_path / "web")
    (tmp_path / "web" / "api").mkdir()
    assert names_of([f"{top}/api", top, "/alice/shop", None]) == ["shop", "web"]
