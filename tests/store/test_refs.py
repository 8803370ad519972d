"""Names of refs, and names that conflict on some file systems."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, Invalid
from scopes.history.messages import plain_message
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.refs import ACTIVE, META, PENDING, find_packed_ref, parse_packed_refs, read_ref_files
from scopes.store.repository import Repository
from scopes.store.transactions import refs_listed_once, set_ref, write_operation
from tests.support.examples import examples
from tests.support.store import (
    HEADS,
    MAIN,
    files_of,
    git,
    move,
    open_store,
    operation,
    write_bytes,
    write_chain,
    write_message,
)

CONVERSATION = ConversationId("conv-001")
components = st.text("aAbBß", min_size=1, max_size=2)
ref_names = st.lists(components, min_size=1, max_size=3).map(lambda parts: "refs/heads/" + "/".join(parts))


def check(existing, *added):
    refs.check_name_conflicts([refs.HEADS + name for name in existing], [refs.HEADS + name for name in added])


def test_every_kind_of_ref_has_its_own_prefix():
    names = {
        refs.branch_ref(CONVERSATION, BranchName("analysis/security")),
        refs.meta_ref(CONVERSATION),
        refs.active_ref(CONVERSATION),
        refs.OPERATIONS,
        refs.PENDING,
    }
    assert names == {
        "refs/heads/conv-001/analysis/security",
        "refs/scopes/meta/conv-001",
        "refs/scopes/active/conv-001",
        "refs/scopes/operations",
        "refs/scopes/pending",
    }
    refs.check_name_conflicts([], names)


@pytest.mark.parametrize(
    ("ref", "tail"),
    [
        ("refs/heads/conv-001/main", "heads/main"),
        ("refs/heads/conv-001/a/b", "heads/a/b"),
        ("refs/scopes/meta/conv-001", "meta"),
        ("refs/scopes/active/conv-001", "active"),
        ("refs/heads/conv-001/conv-001", "heads/conv-001"),
    ],
)
def test_refs_deleted_by_one_operation_get_distinct_trash_refs(ref, tail):
    assert refs.trash_ref(CONVERSATION, OperationId("op1"), ref) == f"refs/scopes/trash/conv-001/op1/{tail}"


def test_a_branch_ref_is_split_into_conversation_and_branch():
    assert refs.split_branch_ref("refs/heads/conv-001/a/b") == ("conv-001", "a/b")
    for other in ("refs/heads/conv-001", "refs/scopes/meta/conv-001", "refs/tags/x/y", "HEAD", ""):
        assert refs.split_branch_ref(other) is None


@pytest.mark.parametrize(
    ("existing", "added", "other"),
    [
        ("conv-001/x", "conv-001/x", "conv-001/x"),
        ("conv-001/x", "conv-001/x/y", "conv-001/x"),
        ("conv-001/x/y", "conv-001/x", "conv-001/x/y"),
        ("conv-001/x/y/z", "conv-001/x", "conv-001/x/y/z"),
        ("conv-001/x", "conv-001/x/y/z", "conv-001/x"),
        ("conv-001/Fix", "conv-001/fix", "conv-001/Fix"),
        ("conv-001/Fix", "conv-001/fix/x", "conv-001/Fix"),
        ("conv-001/Fix/a", "conv-001/fix/b", "conv-001/Fix/a"),
        ("Conv-001/a", "conv-001/b", "Conv-001/a"),
        ("conv-001/straße", "conv-001/STRASSE", "conv-001/stra\\xdfe"),
    ],
)
def test_names_that_conflict_on_some_file_system_are_refused(existing, added, other):
    """A-5, storage pitfall 10: a directory and a file, upper and lower case."""
    with pytest.raises(Invalid) as caught:
        check([existing], added)
    assert f"'{other}'" in caught.value.message
    assert caught.value.exit_code == 2


def test_names_added_at_once_must_not_conflict_either():
    with pytest.raises(Invalid):
        check([], "conv-001/x", "conv-001/x/y")
    with pytest.raises(Invalid):
        check([], "conv-001/X", "conv-001/x")


def test_names_with_a_common_prefix_do_not_conflict():
    check(
        ["conv-001/main", "conv-001/a/b"],
        "conv-001/a/c",
        "conv-001/ab",
        "conv-001/main2",
        "conv-0011/main",
        "conv-001/a/b2",
    )


def test_conflicts_between_existing_refs_are_ignored():
    """A git command may have created them."""
    check(["conv-001/X", "conv-001/x"], "conv-001/y")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ref_names, unique=True, min_size=2, max_size=5))
def test_accepted_names_can_be_files_on_a_case_insensitive_file_system(tmp_path_factory, names):
    """The model is a disk that folds case; every name must be read back as it was written."""
    *existing, added = names
    try:
        refs.check_name_conflicts([], existing)
        refs.check_name_conflicts(existing, [added])
    except Invalid:
        return
    folded = [name.casefold().split("/") for name in names]
    paths = {"/".join(parts) for parts in folded}
    directories = {"/".join(parts[:n]) for parts in folded for n in range(1, len(parts))}
    assert len(paths) == len(names)
    assert not paths & directories
    assert len({d for name in names for d in _directories(name)}) == len(directories)


def _directories(name):
    parts = name.split("/")
    return {"/".join(parts[:n]) for n in range(1, len(parts))}


@pytest.mark.parametrize(("first", "second"), [("x", "x/y"), ("x/y", "x"), ("x", "x/y/z")])
def test_git_refuses_the_same_conflicts_of_files_and_directories(repository, first, second):
    """Git has this part of the rule too."""
    tip = write_message(repository, "one")
    git(repository, "update-ref", f"refs/heads/conv-001/{first}", tip)
    command = ["git", f"--git-dir={repository.path}", "update-ref", f"refs/heads/conv-001/{second}", tip]
    assert subprocess.run(command, capture_output=True, check=False, env=dict(os.environ)).returncode != 0
    with pytest.raises(Invalid):
        check([f"conv-001/{first}"], f"conv-001/{second}")


def test_find_returns_the_conflicting_ref():
    found = refs.RefNameConflicts(["Fork", "a/b"])
    assert [found.find(name) for name in ("fork/x", "A/c", "a", "b")] == ["Fork", "a/b", "a/b", None]
    found.add("b/c")
    assert found.find("b") == "b/c"


@given(
    existing=st.lists(st.sampled_from(["a", "a/b", "a/c", "A/b", "a/b/c", "B", "b", "b/x", "É/a", "é/b"]), max_size=5),
    added=st.lists(
        st.sampled_from(["a", "a/b", "a/B", "a/d", "b", "b/y", "é", "a/b/d"]), max_size=2, min_size=1, unique=True
    ),
)
def test_leaving_out_distant_refs_changes_no_answer_about_conflicts(existing, added):
    names = refs.RefNameConflicts(sorted(existing))
    expected = None
    for name in added:
        expected = expected or names.find(name)
        names.add(name)
    if expected is None:
        refs.check_name_conflicts(existing, added)
    else:
        with pytest.raises(Invalid):
            refs.check_name_conflicts(existing, added)


ACTIVE_REF = "refs/scopes/active/conv-001"
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
            git(repository, "symbolic-ref", ACTIVE_REF, MAIN)
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


@given(
    st.dictionaries(packed_names, st.sampled_from(["", f"^{'1' * 40}\n"])),
    st.sampled_from(["", "# pack-refs with: peeled fully-peeled sorted \n"]),
    st.booleans(),
    st.sets(packed_names),
)
def test_packed_refs_with_a_prefix_are_those_that_every_line_shows(peeled, header, whole, prefixes):
    """Git sorts the names by their bytes; a tag has the object that it is of in the line after it."""
    lines = [f"{'3' * 40} {name}\n{peeled[name]}" for name in sorted(peeled, key=str.encode)]
    text = header + "".join(lines)
    content = (text if whole else text[:-1]).encode()
    *complete, _ = [*content.decode().split("\n")]
    expected = {line[41:]: line[:40] for line in complete if line.startswith("3")}
    chosen = {name: oid for name, oid in expected.items() if name.startswith(tuple(prefixes))}
    assert parse_packed_refs(content, tuple(prefixes)) == chosen
    assert {name for name in prefixes if find_packed_ref(content, name)} == prefixes & {*expected}


NEW = HEADS + "new"


@pytest.fixture
def commits(repository):
    """Two commits; main is at the first one, and active."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (ACTIVE_REF, None, f"ref: {MAIN}"))
    return one, two


def test_the_value_and_the_branch_are_found(repository, commits):
    assert repository.find_symbolic(ACTIVE_REF) == (f"ref: {MAIN}", commits[0])


def test_a_missing_symbolic_ref_names_nothing(repository, commits):
    assert repository.find_symbolic(refs.ACTIVE + "conv-002") == (None, None)


def test_a_deleted_branch_is_not_found(repository, commits):
    move(repository, (ACTIVE_REF, f"ref: {MAIN}", f"ref: {NEW}"))
    assert repository.find_symbolic(ACTIVE_REF) == (f"ref: {NEW}", None)


@pytest.mark.parametrize("target", [refs.OPERATIONS, "refs/heads/../config", "config", "refs/heads/"])
def test_only_branches_are_followed(repository, commits, target):
    write_bytes(f"{repository.path}/{ACTIVE_REF}", f"ref: {target}\n".encode())
    assert open_store(repository).find_symbolic(ACTIVE_REF)[1] is None


def test_a_pending_operation_is_visible_completely(repository, commits):
    _, two = commits
    what = operation(RefChange(NEW, None, two), RefChange(ACTIVE_REF, f"ref: {MAIN}", f"ref: {NEW}"))
    marker = write_operation(repository, what, repository.raw_ref(refs.OPERATIONS))
    set_ref(repository, RefChange(refs.PENDING, None, marker), "test")
    for reader in (repository, open_store(repository)):
        assert reader.find_symbolic(ACTIVE_REF) == (f"ref: {NEW}", two)
        assert reader.raw_ref(ACTIVE_REF) == f"ref: {MAIN}"


def test_an_earlier_state_is_shown(repository, commits):
    _, two = commits
    repository.override_refs({ACTIVE_REF: f"ref: {NEW}", NEW: two})
    assert repository.find_symbolic(ACTIVE_REF) == (f"ref: {NEW}", two)


def test_an_append_goes_to_the_branch_that_a_pending_operation_made_active(repository):
    new(repository)
    start = append(repository, "conv-001", plain_message("carol", "first")).oid
    main, other = "refs/heads/conv-001/main", "refs/heads/conv-001/other"
    what = operation(RefChange(other, None, start), RefChange(ACTIVE_REF, f"ref: {main}", f"ref: {other}"))
    marker = write_operation(repository, what, repository.raw_ref(refs.OPERATIONS))
    set_ref(repository, RefChange(refs.PENDING, None, marker), "test")
    assert append(open_store(repository), "conv-001", plain_message("carol", "second")).branch == "other"
    assert repository.raw_ref(main) == start


def test_an_append_finds_the_active_branch_if_it_is_renamed_between_two_reads(repository, monkeypatch):
    new(repository)
    main, renamed, original = "refs/heads/conv-001/main", "refs/heads/conv-001/renamed", Repository.raw_ref
    tip = repository.raw_ref(main)
    renames = [[(renamed, None, tip), (main, tip, None), (ACTIVE_REF, f"ref: {main}", f"ref: {renamed}")]]

    def read_and_rename(self, name):
        value = original(self, name)
        if name == ACTIVE_REF and renames:
            move(open_store(self), *renames.pop())
        return value

    monkeypatch.setattr(Repository, "raw_ref", read_and_rename)
    assert append(repository, "conv-001", plain_message("carol", "second")).branch == "renamed"


OTHER = HEADS + "other"
FAR = f"{META}conv-001"
LINK = ACTIVE + "conv-001"
PREFIXES = [(), ("refs/",), (HEADS,), (HEADS + "o",), (META, HEADS), (HEADS, OTHER), ("refs/heads/conv-00",), ("x",)]


@pytest.fixture
def two_branches(repository):
    """Two commits; branches and metadata are at the first one, and main is active."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (OTHER, None, one), (FAR, None, one), (LINK, None, f"ref: {MAIN}"))
    return one, two


@pytest.mark.parametrize("prefixes", PREFIXES)
def test_the_listing_has_what_the_files_have_in_the_same_order(repository, two_branches, prefixes):
    expected = list(repository.list_refs(*prefixes).items())
    with refs_listed_once(repository):
        assert list(repository.list_refs(*prefixes).items()) == expected


@pytest.mark.parametrize("name", [MAIN, OTHER, FAR, LINK, HEADS + "missing", "refs/heads", PENDING])
def test_a_ref_has_the_value_that_its_file_has(repository, two_branches, name):
    expected = repository.find_ref(name), repository.find_symbolic(name)
    with refs_listed_once(repository):
        assert (repository.find_ref(name), repository.find_symbolic(name)) == expected


def test_packed_refs_are_listed_too(repository, two_branches):
    git(repository, "pack-refs", "--all")
    with refs_listed_once(repository):
        assert repository.find_ref(OTHER) == two_branches[0]
        assert repository.list_refs(META) == {FAR: two_branches[0]}


def test_no_file_is_read_for_a_question(repository, two_branches, monkeypatch):
    read, original = [], Repository.raw_ref
    with refs_listed_once(repository):
        monkeypatch.setattr(Repository, "raw_ref", lambda self, name: read.append(name) or original(self, name))
        assert repository.find_ref(MAIN) == two_branches[0]
        assert repository.find_ref(HEADS + "missing") is None
        assert len(repository.list_refs(HEADS)) == 2
    assert read == []


def test_what_another_process_moves_is_seen_after_the_block(repository, two_branches):
    one, two = two_branches
    with refs_listed_once(repository):
        move(open_store(repository), (MAIN, one, two))
        assert repository.find_ref(MAIN) == one
        assert repository.raw_ref(MAIN) == two
    assert repository.find_ref(MAIN) == two


def test_an_error_ends_the_listing(repository, two_branches):
    with pytest.raises(ZeroDivisionError), refs_listed_once(repository):
        _ = 1 / 0
    assert repository.listed is None


def test_a_damaged_ref_is_reported_to_whoever_needs_it(repository, two_branches):
    """A listing would leave it out, as if it did not exist."""
    write_bytes(f"{repository.path}/{OTHER}", b"damaged\n")
    with refs_listed_once(repository):
        assert repository.find_ref(MAIN) == two_branches[0]
        with pytest.raises(Corrupt):
            repository.find_ref(OTHER)


def test_an_earlier_state_stays_the_one_that_is_shown(repository, two_branches):
    repository.override_refs({MAIN: two_branches[1]})
    with refs_listed_once(repository):
        assert repository.find_ref(MAIN) == two_branches[1]
    assert repository.is_past
    assert repository.find_ref(MAIN) == two_branches[1]
    assert repository.raw_ref(MAIN) == two_branches[1]


def test_a_listing_is_no_earlier_state(repository, two_branches):
    """The store can be written, and commands that show the present state go on."""
    with refs_listed_once(repository):
        assert not repository.is_past
        repository.require_writable()


def test_a_block_within_a_block_ends_the_listing(repository, two_branches):
    with refs_listed_once(repository):
        with refs_listed_once(repository):
            assert repository.find_ref(MAIN) == two_branches[0]
        assert repository.find_ref(MAIN) == two_branches[0]
    assert repository.listed is None
