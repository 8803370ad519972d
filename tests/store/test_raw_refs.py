"""Refs read from their files, compared with the results of git and libgit2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Corrupt
from scopes.store.refs import parse_packed_refs, read_ref_files
from tests.support.examples import examples
from tests.support.store import HEADS, MAIN, files_of, git, write_bytes, write_chain, write_message

ACTIVE = "refs/scopes/active/conv-001"
names = st.sampled_from(
    ["refs/heads/a/main", "refs/heads/a/x/y", "refs/heads/ab/main", "refs/scopes/meta/a", "refs/scopes/meta/ab"]
)
steps = st.lists(st.tuples(st.sampled_from(["set", "delete", "pack", "point"]), names), max_size=8)


@pytest.fixture
def tips(repository):
    return write_chain(repository, "one", "two")


def as_git_sees_them(repository, prefix=""):
    """Return the refs that the git program lists; it omits a symbolic ref whose target does not exist."""
    lines = git(repository, "for-each-ref", "--format=%(refname) %(objectname) %(symref)").splitlines()
    rows = [line.split(" ") for line in lines if line.startswith(prefix)]
    return {name: f"ref: {target}" if target else oid for name, oid, target in rows}


def listed(store, prefixes):
    return read_ref_files(store, prefixes).list_refs(prefixes)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_loose_and_packed_refs_together_agree_with_git(repository, tips, steps):
    for number, (step, name) in enumerate(steps):
        if step == "set":
            git(repository, "update-ref", "--no-deref", name, tips[number % 2])
        elif step == "delete":
            git(repository, "update-ref", "--no-deref", "-d", name)
        elif step == "point" and MAIN in as_git_sees_them(repository):
            git(repository, "symbolic-ref", ACTIVE, MAIN)
        else:
            git(repository, "pack-refs", "--all")
    assert listed(repository.path, ("refs/",)) == as_git_sees_them(repository)
    assert listed(repository.path, ("refs/heads/a/",)) == as_git_sees_them(repository, "refs/heads/a/")


@pytest.mark.parametrize("packed", [False, True])
def test_a_prefix_may_end_inside_a_name_and_several_give_one_sorted_list(repository, tips, packed):
    for name in (
        "refs/heads/b/main",
        "refs/heads/a/main",
        "refs/scopes/meta/a",
        "refs/scopes/meta/ab",
        "refs/scopes/other",
    ):
        git(repository, "update-ref", name, tips[0])
    if packed:
        git(repository, "pack-refs", "--all")
    assert list(listed(repository.path, ("refs/scopes/meta/a", "refs/heads/"))) == [
        "refs/heads/a/main", "refs/heads/b/main", "refs/scopes/meta/a", "refs/scopes/meta/ab",
    ]  # fmt: skip
    assert listed(repository.path, ("refs/nothing/", "refs/heads/a/main/")) == {}


def test_a_loose_ref_overrides_packed_refs(repository, tips):
    git(repository, "update-ref", MAIN, tips[0])
    git(repository, "pack-refs", "--all")
    git(repository, "update-ref", MAIN, tips[1])
    assert listed(repository.path, (HEADS,)) == {MAIN: tips[1]}


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"ref: \n", b"abc\n", b"\xff", b"5" * 39])
def test_a_damaged_loose_ref_hides_its_packed_value_and_no_other_ref(repository, tips, content):
    """D-38: a power cut leaves an empty file; the packed value is outdated."""
    git(repository, "update-ref", MAIN, tips[0])
    git(repository, "update-ref", HEADS + "other", tips[1])
    git(repository, "pack-refs", "--all")
    write_bytes(f"{repository.path}/{MAIN}", content)
    assert listed(repository.path, (HEADS,)) == {HEADS + "other": tips[1]}


def test_lock_files_and_empty_directories_are_not_refs(repository, tips):
    git(repository, "update-ref", MAIN, tips[0])
    write_bytes(f"{repository.path}/{MAIN}.lock", b"")
    os.makedirs(f"{repository.path}/{HEADS}empty/deep")
    assert listed(repository.path, (HEADS,)) == {MAIN: tips[0]}


@pytest.mark.parametrize("end", ["", "\n", "  \n", "\r\n", "\nmore\n"])
def test_text_after_the_value_is_ignored_as_by_libgit2(repository, tips, end):
    write_bytes(f"{repository.path}/{MAIN}", f"{tips[0]}{end}".encode())
    assert str(repository.git.references[MAIN].target) == tips[0]
    assert listed(repository.path, (HEADS,)) == {MAIN: tips[0]}


@pytest.mark.parametrize(
    "line", ["garbage\n", "zz refs/heads/x\n", "0" * 40 + "\n", "0" * 40 + " \n", "é" * 40 + " refs/x\n"]
)
def test_an_invalid_line_of_packed_refs_is_corrupt(repository, tips, line):
    git(repository, "update-ref", MAIN, tips[0])
    git(repository, "pack-refs", "--all")
    with open(f"{repository.path}/packed-refs", "a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(Corrupt, match="packed-refs of the store is damaged"):
        listed(repository.path, (HEADS,))


def test_packed_refs_with_an_incomplete_last_line_are_corrupt(repository, tips):
    """D-39: the last branch would have another name."""
    git(repository, "update-ref", MAIN, tips[0])
    git(repository, "pack-refs", "--all")
    whole = files_of(repository.path)["packed-refs"]
    for cut in (1, 2, len(MAIN)):
        write_bytes(f"{repository.path}/packed-refs", whole[:-cut])
        with pytest.raises(Corrupt):
            listed(repository.path, (HEADS,))


def test_peeled_tags_in_packed_refs_are_skipped(repository, tips):
    git(repository, "tag", "-a", "-m", "v", "v1", tips[0])
    git(repository, "pack-refs", "--all")
    assert b"^" in files_of(repository.path)["packed-refs"]
    assert listed(repository.path, ("refs/",)) == as_git_sees_them(repository)


def test_a_name_that_is_not_utf_8_is_read(repository, tips):
    name = HEADS + os.fsdecode(b"\xff")
    write_bytes(f"{repository.path}/{name}", tips[0].encode())
    assert listed(repository.path, (HEADS,)) == {name: tips[0]}
    git(repository, "pack-refs", "--all")
    assert listed(repository.path, (HEADS,)) == {name: tips[0]}


def test_the_names_of_refs_are_listed_loose_packed_and_damaged(repository):
    tip = write_message(repository, "one")
    for name in ("conv-001/main", "conv-002/main", "conv-003/x"):
        git(repository, "update-ref", f"refs/heads/{name}", tip)
    git(repository, "pack-refs", "--all")
    git(repository, "update-ref", "refs/heads/conv-002/main", tip)
    git(repository, "update-ref", "refs/heads/conv-004/main", tip)
    Path(repository.path, "refs/heads/conv-001").mkdir(parents=True, exist_ok=True)
    Path(repository.path, "refs/heads/conv-001/other").write_bytes(b"damaged")
    expected = {
        f"refs/heads/{name}"
        for name in ("conv-001/main", "conv-001/other", "conv-002/main", "conv-003/x", "conv-004/main")
    }
    assert repository.list_ref_names("refs/heads/") == expected
    assert repository.list_ref_names("refs/heads/conv-00", "refs/none/") == expected
    assert repository.list_ref_names("refs/none/") == set()
    assert {*repository.list_refs("refs/heads/")} == expected - {"refs/heads/conv-001/other"}


packed_names = st.sampled_from(
    ["refs/a", "refs/a/b", "refs/ab", "refs/b", "refs/b/a/x", "refs/heads/conv-001/main", "refs/\u00e9"]
)
packed_lines = st.sampled_from(
    ["# pack-refs with: peeled fully-peeled sorted", f"^{'1' * 40}", "", f"{'2' * 40} refs/z"]
)


@given(
    st.lists(packed_names.map(lambda name: f"{'3' * 40} {name}") | packed_lines, max_size=12),
    st.booleans(),
    st.sets(packed_names),
)
def test_packed_refs_with_a_prefix_are_those_that_every_line_shows(lines, whole, prefixes):
    """Only the lines between the first and the last name are looked at, in any order of the lines."""
    text = "".join(f"{line}\n" for line in lines)
    content = (text if whole else text[:-1]).encode()
    *complete, _ = [*content.decode().split("\n")]
    expected = {line[41:]: line[:40] for line in complete if line.startswith(tuple(prefixes), 41)}
    assert parse_packed_refs(content, tuple(prefixes)) == expected
