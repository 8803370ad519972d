"""An open store: what is read, what is refused, and what a reader sees while refs move."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes.errors import Corrupt, NotFound, Refused, TooNew
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.objects import BLOB, COMMIT, TREE, read_commit, read_tree
from scopes.store.repository import open_repository, read_operation
from scopes.store.transactions import append, exclusive_write, set_ref, write_operation
from tests.support.store import (
    HEADS,
    MAIN,
    Process,
    assert_sound,
    git,
    make_branch,
    make_store,
    move,
    open_store,
    operation,
    read_bytes,
    state_of,
    write_bytes,
    write_chain,
    write_message,
)


def set_marker(repository, *changes):
    """Commit an operation, but move none of its refs."""
    what = operation(*(RefChange(*change) for change in changes))
    previous = repository.raw_ref(refs.OPERATIONS)
    commit = write_operation(repository, what, previous)
    set_ref(repository, RefChange(refs.PENDING, None, commit), "test")
    return commit


# Opening


def test_a_path_without_a_store_is_not_found(tmp_path):
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(NotFound, match="there is no store"):
            open_repository(str(path))


def test_another_repository_is_not_a_store(tmp_path):
    """D-43: a user's own repository is not opened as a store."""
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    for path in (tmp_path / "project", tmp_path / "project" / ".git"):
        with pytest.raises(Corrupt, match="is not a scopes store"):
            open_repository(str(path))


@pytest.mark.parametrize("extension", ["objectFormat = sha256", "refStorage = reftable", "partialClone = origin"])
def test_an_unsupported_kind_of_repository_is_refused_by_name(repository, extension):
    """Storage pitfall 14."""
    with open(os.path.join(repository.path, "config"), "a") as file:
        file.write(f"[core]\nrepositoryformatversion = 1\n[extensions]\n{extension}\n")
    with pytest.raises(Corrupt, match="a kind of git repository that cannot be opened") as caught:
        open_store(repository)
    assert "not supported" in caught.value.hint


@pytest.mark.parametrize("lost", ["HEAD", "objects", "refs"])
def test_an_incomplete_store_is_refused(tmp_path, lost):
    """Also where the path looks like the text of another error."""
    repository = make_store(tmp_path / "owner's extensions" / "store.git")
    os.rename(os.path.join(repository.path, lost), os.path.join(repository.path, "lost"))
    with pytest.raises(Corrupt, match=r"cannot open the store|the file HEAD of the store"):
        open_store(repository)


@pytest.mark.parametrize("version", ["3", "999", "2.1", "1k", "-1", "x", "", "9" * 5000])
def test_a_store_of_a_newer_format_is_read_only(repository, version):
    """P17, D-46: a version that is not a number counts as newer."""
    (tip,) = make_branch(repository, "one")
    git(repository, "config", "scopes.formatVersion", version)
    newer = open_store(repository)
    before = state_of(newer)
    assert newer.find_ref(MAIN) == tip
    assert read_commit(newer, tip).subject == "one"
    for act in (lambda: append(newer, MAIN, lambda tip: tip, "x"), lambda: move(newer, (HEADS + "x", None, tip))):
        with pytest.raises(TooNew, match="the store has format"):
            act()
    assert state_of(newer) == before


def test_a_store_of_an_earlier_format_is_refused_with_the_way_over(repository):
    git(repository, "config", "scopes.formatVersion", "1")
    with pytest.raises(Refused, match="has format 1, this scopes reads format 2") as refused:
        open_store(repository)
    assert "export --format jsonl" in refused.value.hint


def test_a_store_without_a_version_can_be_written(repository):
    make_branch(repository, "one")
    git(repository, "config", "--unset", "scopes.formatVersion")
    git(repository, "config", "scopes.durability", "fast")
    older = open_store(repository)
    assert older.format_version == 0
    make_branch(older, "two", ref=HEADS + "two")


# Objects


def test_written_objects_are_read_by_another_repository(repository):
    """P2."""
    for kind, data in ((BLOB, b"\0\xff\r\n"), (BLOB, b""), (TREE, b"")):
        oid = repository.write(kind, data)
        assert open_store(repository).read(oid) == (kind, data)
        assert repository.has(oid)


def test_packed_objects_are_read(repository):
    commits = make_branch(repository, "one", "two")
    before = [repository.read(oid) for oid in commits]
    git(repository, "gc", "-q")
    for reader in (repository, open_store(repository)):
        assert [reader.read(oid) for oid in commits] == before


def test_a_tag_made_by_git_is_read(repository):
    tip = make_branch(repository, "one")[-1]
    git(repository, "tag", "-a", "-m", "x", "v1", tip)
    value = Oid(repository.find_ref("refs/tags/v1"))
    assert repository.read(value)[0] == "tag"
    git(repository, "gc", "-q")
    assert open_store(repository).read(value)[0] == "tag"


def test_an_object_of_another_kind_is_corrupt(repository):
    blob, tree = repository.write(BLOB, b"x"), repository.write(TREE, b"")
    with pytest.raises(Corrupt, match="is not a commit"):
        read_commit(repository, tree)
    with pytest.raises(Corrupt, match="is not a tree"):
        read_tree(repository, blob)
    with pytest.raises(Corrupt, match="is not an operation"):
        read_operation(repository, read_commit(repository, write_message(repository, "one")))


@pytest.mark.parametrize(
    "oid", ["", "abc", "z" * 40, "A" * 40, "../" * 13 + "x", "/dev/zero", "a/" * 20, "1" * 39, "1" * 41, "\0" * 40]
)
def test_an_invalid_object_id_is_corrupt_and_not_used_as_a_path(repository, oid):
    """A foreign commit may contain any text as its tree."""
    with pytest.raises(Corrupt, match=r"is not an object id|is damaged"):
        repository.read(Oid(oid))


def test_a_commit_with_a_path_as_tree_reads_no_file(repository):
    oid = repository.write(COMMIT, b"tree ../../../../../../../../etc/passwd\nauthor a <b> 1 +0000\n\nx\n")
    with pytest.raises(Corrupt):
        read_tree(repository, read_commit(repository, oid).tree)


# Refs


def test_refs_are_listed_by_prefix_and_sorted(repository):
    one, two = write_chain(repository, "one", "two")
    move(repository, (HEADS + "b", None, one), (HEADS + "a", None, two), ("refs/heads/conv-0012/main", None, one))
    move(repository, (refs.ACTIVE + "conv-001", None, f"ref: {HEADS}a"))
    assert list(repository.list_refs(HEADS).items()) == [(HEADS + "a", two), (HEADS + "b", one)]
    assert list(repository.list_refs(HEADS, refs.ACTIVE)) == [HEADS + "a", HEADS + "b", refs.ACTIVE + "conv-001"]
    assert repository.find_ref(refs.ACTIVE + "conv-001") == f"ref: {HEADS}a"
    assert len(repository.list_refs()) == 5
    git(repository, "pack-refs", "--all")
    assert repository.find_ref(HEADS + "b") == one
    assert len(repository.list_refs()) == 5


@pytest.mark.parametrize("name", [HEADS + "none", HEADS.rstrip("/"), "refs/heads", "refs/heads/conv-001/a/b/c"])
def test_an_unknown_ref_is_none(repository, name):
    make_branch(repository, "one")
    assert repository.find_ref(name) is None


@pytest.mark.parametrize(
    "content", [b"", b"garbage\n", b"ref: \n", b"5ffbbbb4384b96cc\n", b"\0" * 41, b"z" * 40 + b"\n", b"\xff"]
)
def test_a_damaged_ref_is_corrupt_and_others_are_read(repository, content):
    """D-38: a power cut leaves a truncated ref."""
    (tip,) = make_branch(repository, "one")
    write_bytes(f"{repository.path}/{HEADS}bad", content)
    with pytest.raises(Corrupt, match=r"bad is damaged") as caught:
        repository.find_ref(HEADS + "bad")
    assert caught.value.hint == "see: scopes verify"
    assert repository.list_refs(HEADS) == {MAIN: tip}


@pytest.mark.parametrize("line", [b"garbage", b"zz refs/heads/x", b"\xff\xfe\0", b"0" * 40])
def test_damaged_packed_refs_are_corrupt_and_give_no_wrong_value(repository, line):
    """D-39: libgit2 looks up a single name without reading the whole file."""
    (tip,) = make_branch(repository, "one")
    git(repository, "pack-refs", "--all")
    packed = read_bytes(f"{repository.path}/packed-refs")
    write_bytes(f"{repository.path}/packed-refs", packed + line + b"\n")
    with pytest.raises(Corrupt, match="packed-refs of the store is damaged"):
        open_store(repository).list_refs()
    assert open_store(repository).find_ref(MAIN) == tip


# What a reader sees of an operation


def test_a_pending_operation_is_visible_completely(repository):
    """P3: readers cannot see that the refs have not moved yet."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (HEADS + "old", None, one), (refs.ACTIVE + "conv-001", None, f"ref: {MAIN}"))
    active = f"ref: {HEADS}new"
    moves = ((MAIN, one, two), (HEADS + "old", one, None), (HEADS + "new", None, two))
    pending = set_marker(repository, *moves, (refs.ACTIVE + "conv-001", f"ref: {MAIN}", active))
    for reader in (repository, open_store(repository)):
        assert reader.list_refs(HEADS) == {MAIN: two, HEADS + "new": two}
        assert (reader.find_ref(HEADS + "old"), reader.find_ref(HEADS + "new")) == (None, two)
        assert reader.find_ref(refs.ACTIVE + "conv-001") == active
        assert reader.find_ref(refs.OPERATIONS) == pending
        assert refs.PENDING not in reader.list_refs()
        assert reader.raw_ref(MAIN) == one


@pytest.mark.parametrize("later", [0, 1, 3])
def test_a_stale_marker_is_ignored(repository, later):
    """A power cut or a concurrent `git pack-refs` may restore the marker of a finished operation."""
    one, two = write_chain(repository, "one", "two")
    done = move(repository, (MAIN, None, one))
    for number in range(later):
        move(repository, (f"{HEADS}b{number}", None, one))
    append(repository, MAIN, lambda tip: two, "append")
    git(repository, "update-ref", refs.PENDING, done)
    before = git(repository, "for-each-ref", "refs/heads", refs.OPERATIONS)
    assert open_store(repository).find_ref(MAIN) == two
    assert open_store(repository).list_refs(HEADS)[MAIN] == two
    with exclusive_write(repository):
        pass
    assert git(repository, "for-each-ref", "refs/heads", refs.OPERATIONS) == before
    assert repository.raw_ref(refs.PENDING) is None


def test_an_operation_during_a_read_is_visible_completely(repository, monkeypatch):
    """P6: the marker is absent before and after."""
    one, two = write_chain(repository, "one", "two")
    names = [f"{HEADS}b{number}" for number in range(4)]
    move(repository, *((name, None, one) for name in names))
    reader = open_store(repository)
    look = reader.ref_files

    def read_slowly(prefix):
        monkeypatch.setattr(reader, "ref_files", look)
        first = look(prefix).loose
        move(repository, *((name, one, two) for name in names))
        second = look(prefix)
        return second._replace(loose={name: (first if name < names[2] else second.loose)[name] for name in first})

    monkeypatch.setattr(reader, "ref_files", read_slowly)
    assert set(reader.list_refs(HEADS).values()) == {two}


def test_refs_packed_during_a_read_are_not_missed(repository, monkeypatch):
    """P6: the reader read packed-refs before packing, and finds the loose ref deleted after it."""
    tips = write_chain(repository, "one", "two")
    names = [HEADS + "a", HEADS + "b"]
    move(repository, *zip(names, (None, None), tips, strict=True))
    reader = open_store(repository)
    look = reader.ref_files

    def read_slowly(prefix):
        monkeypatch.setattr(reader, "ref_files", look)
        git(repository, "pack-refs", "--all")
        return refs.RefFiles({names[0]: tips[0]}, b"")

    monkeypatch.setattr(reader, "ref_files", read_slowly)
    assert reader.list_refs(HEADS) == dict(zip(names, tips, strict=True))


WRITER = """
import select
repository = open_store(path)
one, two = sys.argv[2:4]
names = [f"{HEADS}b{number:02}" for number in range(30)]
while not select.select([sys.stdin], [], [], 0)[0]:  # until its input ends
    move(repository, *((name, one, two) for name in names))
    one, two = two, one
"""


def test_readers_see_every_operation_completely_or_not_at_all(repository):
    """P3, P6: thirty refs that always move together."""
    one, two = write_chain(repository, "one", "two")
    names = [f"{HEADS}b{number:02}" for number in range(30)]
    move(repository, *((name, None, one) for name in names))
    writer = Process(WRITER, repository.path, one, two)
    seen = set()
    looks = 0
    while looks < 200 or seen != {one, two}:
        assert writer.popen.poll() is None, writer.popen.stderr.read()
        values = open_store(repository).list_refs(HEADS)
        assert len(values) == 30
        assert len(set(values.values())) == 1
        seen |= set(values.values())
        looks += 1
    writer.finish()
    assert_sound(repository)


@pytest.mark.slow
def test_readers_see_every_ref_while_refs_are_packed(repository):
    """P6: packing writes all refs into one file and then deletes the loose ones."""
    one, two = write_chain(repository, "one", "two")
    names = [f"{HEADS}b{number:03}" for number in range(200)]
    move(repository, *((name, None, one) for name in names))
    code = "git(path, 'pack-refs', '--all')"
    for old, new in ((one, two), (two, one), (one, two)):
        packer = Process(code, repository.path)
        while packer.popen.poll() is None:
            assert list(repository.list_refs(HEADS)) == names
            assert repository.find_ref(names[-1]) == old
        packer.finish()
        move(repository, *((name, old, new) for name in names))


def test_a_store_may_have_an_unusual_path(tmp_path):
    for name in ("a b", "é\u2028", "it's", "-x", "already exists", "$(touch pwned)", "x" * 200):
        store = make_store(tmp_path / name / "store.git")
        make_branch(store, "one", "two")
        git(store, "gc", "-q")
        assert len(open_store(store).list_refs(HEADS)) == 1
    assert not os.path.exists("pwned")
