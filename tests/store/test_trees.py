"""Nested trees as flat maps, compared with a dictionary and with git's listing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Corrupt, NotFound
from scopes.ids import Oid
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    ObjectsInMemory,
    TreeEntry,
    diff_blobs,
    find_blob,
    find_entry,
    format_commit,
    format_tree,
    read_blob,
    update_tree,
    walk_blobs,
)
from tests.support.examples import examples
from tests.support.store import CAROL, NOON, assert_sound, git, state_of

components = st.sampled_from(["a", "a=", "a.b", "a0", "b", "é", "%2F", "c="])
paths = st.lists(components, min_size=1, max_size=4).map("/".join)
contents = st.binary(max_size=4)


class Counting:
    """Objects in memory, counting what is written."""

    def __init__(self, repository):
        self.repository = repository
        self.written = []

    def read(self, oid):
        return self.repository.read(oid)

    def write(self, kind, data):
        self.written.append(kind)
        return self.repository.write(kind, data)


def model_update(files, changes):
    """Update a dictionary as a tree is updated: a file replaces a directory and vice versa."""
    result = dict(files)
    for path, data in changes.items():
        if data is None:
            result.pop(path, None)
            continue
        parts = path.split("/")
        above = {"/".join(parts[:n]) for n in range(1, len(parts))}
        result = {p: d for p, d in result.items() if p not in above and not p.startswith(path + "/")}
        result[path] = data
    return result


def side_by_side(changes):
    return not any(other.startswith(path + "/") for path in changes for other in changes)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(paths, contents | st.none(), max_size=6).filter(side_by_side), max_size=4))
def test_a_tree_behaves_like_a_dictionary_of_paths(repository, rounds):
    tree, files = None, {}
    for changes in rounds:
        tree, files = update_tree(repository, tree, changes), model_update(files, changes)
        assert {path: read_blob(repository, oid) for path, oid in walk_blobs(repository, tree)} == files
        listed = git(repository, "ls-tree", "-r", "-z", "--name-only", tree).split("\0")[:-1]
        assert [path for path, _ in walk_blobs(repository, tree)] == listed
        assert all(find_blob(repository, tree, path) == data for path, data in files.items())
        assert update_tree(repository, None, files) == tree


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*[st.dictionaries(paths, contents, max_size=6).filter(side_by_side)] * 2)
def test_applying_a_difference_to_one_tree_gives_the_other(repository, before, after):
    old, new = (update_tree(repository, None, files) for files in (before, after))
    moves = {path: (was, now) for path, was, now in diff_blobs(repository, old, new)}
    assert moves.keys() == {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    forth = {path: now for path, (_, now) in moves.items() if now is not None}
    back = {path: was for path, (was, _) in moves.items() if was is not None}
    assert {path: read_blob(repository, oid) for path, oid in forth.items()} == {p: after[p] for p in forth}
    assert {path: read_blob(repository, oid) for path, oid in back.items()} == {p: before[p] for p in back}


def test_equal_subtrees_are_not_read_for_a_difference(repository):
    files = {f"{directory}/{n}": b"x" for directory in "abc" for n in range(5)}
    old = update_tree(repository, None, files)
    new = update_tree(repository, old, {"b/3": b"y"})
    opened = []

    class Watched:
        def read(self, oid):
            opened.append(oid)
            return repository.read(oid)

    assert [path for path, _, _ in diff_blobs(Watched(), old, new)] == ["b/3"]
    assert len(opened) == 4


def test_a_tree_without_files_is_the_empty_tree(repository):
    """A directory is removed with its last file."""
    assert update_tree(repository, None, {}) == EMPTY_TREE
    tree = update_tree(repository, None, {"a/b/c=": b"x"})
    assert update_tree(repository, tree, {"a/b/c=": None}) == EMPTY_TREE
    assert update_tree(repository, EMPTY_TREE, {"a/b/c=": b"x"}) == tree


def test_one_change_writes_one_tree_per_level(repository):
    tree = update_tree(repository, None, {f"{a}/{b}/{c}=": b"x" for a in "abc" for b in "abc" for c in "abc"})
    counting = Counting(repository)
    update_tree(counting, tree, {"a/b/c=": b"y"})
    assert counting.written == [BLOB, TREE, TREE, TREE]


def test_a_stored_blob_can_be_given_by_its_id(repository):
    blob = repository.write(BLOB, b"x")
    assert update_tree(repository, None, {"a": blob}) == update_tree(repository, None, {"a": b"x"})


def test_an_absent_path_is_none_and_so_is_a_path_through_a_file(repository):
    tree = update_tree(repository, None, {"a/b": b"x"})
    assert find_entry(repository, tree, "a").is_tree
    assert find_entry(repository, tree, "a/b") == TreeEntry("b", repository.write(BLOB, b"x"), is_tree=False)
    for path in ("b", "a/c", "a/b/c", "a/b/c/d", ""):
        assert find_entry(repository, tree, path) is None
    assert find_blob(repository, tree, "a") is None


def test_removing_an_absent_path_changes_nothing(repository):
    tree = update_tree(repository, None, {"a/b": b"x"})
    assert update_tree(repository, tree, {"c": None, "a/c": None, "d/e": None}) == tree


def test_foreign_entries_are_kept_by_a_change(repository):
    """A name in another encoding."""
    blob = repository.write(BLOB, b"x")
    tree = repository.write(TREE, b"100644 b\xf6se\0" + bytes.fromhex(blob))
    changed = update_tree(repository, tree, {"a": b"y"})
    assert git(repository, "ls-tree", "-z", "--name-only", changed).split("\0")[:-1] == ["a", "b\udcf6se"]


def test_a_tree_deeper_than_python_recurses_is_walked(repository):
    """G-65: a foreign tree may have any depth."""
    tree = repository.write(TREE, format_tree([TreeEntry("x", repository.write(BLOB, b"x"), is_tree=False)]))
    for _ in range(1500):
        tree = repository.write(TREE, format_tree([TreeEntry("d", tree, is_tree=True)]))
    assert [path for path, _ in walk_blobs(repository, tree)] == ["d/" * 1500 + "x"]


def test_a_missing_subtree_is_not_found_and_an_object_of_another_kind_is_corrupt(repository):
    """D-40."""
    missing = repository.write(TREE, format_tree([TreeEntry("a", Oid("1" * 40), is_tree=True)]))
    with pytest.raises(NotFound):
        find_blob(repository, missing, "a/b")
    with pytest.raises(Corrupt, match="is not a blob"):
        read_blob(repository, missing)


def test_git_fsck_accepts_the_written_trees(repository):
    tree = update_tree(
        repository, None, {"state/a=": b"x", "state/a/b=": b"y", "message.json": b"z", "state/%2Egit=": b""}
    )
    commit = format_commit(tree=tree, parents=[], author=CAROL, time=NOON, subject="x")
    git(repository, "update-ref", "refs/heads/a/b", repository.write(COMMIT, commit))
    assert_sound(repository)


@pytest.mark.parametrize("data", [b"", b"hello\n", bytes(range(256)) * 300])
def test_an_object_has_the_id_that_the_store_would_give_it(repository, data):
    objects = ObjectsInMemory(repository)
    assert objects.write(BLOB, data) == repository.write(BLOB, data)
    assert objects.write(TREE, b"") == EMPTY_TREE


def test_what_is_written_is_read_again_and_the_store_does_not_have_it(repository):
    objects = ObjectsInMemory(repository)
    before = state_of(repository)
    oid = objects.write(BLOB, b"a plan")
    assert objects.read(oid) == (BLOB, b"a plan")
    assert not repository.has(oid)
    with pytest.raises(NotFound):
        repository.read(oid)
    assert state_of(repository) == before


def test_objects_of_the_store_are_read_through_it(repository):
    oid = repository.write(BLOB, b"kept")
    objects = ObjectsInMemory(repository)
    assert objects.read(oid) == (BLOB, b"kept")
    with pytest.raises(NotFound):
        objects.read("0" * 40)
