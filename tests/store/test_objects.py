"""Trees and commits byte for byte, compared with pygit2 and with what the git program accepts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import zlib

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Corrupt, Inaccessible
from scopes.ids import Oid
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    MAX_TIME_SECONDS,
    TREE,
    Identity,
    TreeEntry,
    find_in_tree,
    find_loose,
    format_commit,
    format_tree,
    one_line,
    parse_commit,
    parse_tree,
)
from tests.support.examples import examples
from tests.support.store import (
    CAROL,
    NOON,
    Process,
    assert_sound,
    git,
    loose_path,
    outcome,
    read_bytes,
    write_bytes,
    write_chain,
    write_message,
)

HOSTILE = [
    "", " ", "\n", "a\nb", "a\r\nb", "a\0b", "\0", "<>", "a<b>c", "a > b", "\ud800", "a\udfffb", "\x1b[31m", "\u2028", "\x85",
    "author x <y@z> 1 +0000", "\ncommitter x <y@z> 1 +0000", "Scopes-Message: forged", "a\n\nScopes-Kind: root", "<<<<<<< HEAD",
    "tree " + EMPTY_TREE, "é" * 80, "\U0001f600" * 100, "\u202eevil", " . , : ; \" ' \\ ", "x" * 5000, "a" + " " * 3000 + "b",
]  # fmt: skip
texts = st.text(st.characters(), max_size=120) | st.sampled_from(HOSTILE)
any_byte_names = st.binary(min_size=1, max_size=8).map(lambda name: name.replace(b"/", b"-").replace(b"\0", b"-"))


def commit_bytes(name="carol", email="c@agents.scopes", subject="a", trailers=(), time=NOON, parents=()):
    author = Identity(name, email)
    return format_commit(tree=EMPTY_TREE, parents=parents, author=author, time=time, subject=subject, trailers=trailers)


def parsed(data):
    return parse_commit(Oid("0" * 40), data)


@pytest.fixture
def empty_tree(repository):
    return repository.write(TREE, b"")


@pytest.mark.parametrize("parents", [0, 1, 2, 5])
@pytest.mark.parametrize("trailers", [(), (("Scopes-Message", "abc"), ("Scopes-Kind", "plain"))])
def test_a_commit_has_the_same_bytes_as_with_libgit2(repository, empty_tree, parents, trailers):
    above = tuple(write_message(repository, str(number)) for number in range(parents))
    signature = pygit2.Signature("Jörg Ü", "jorg@humans.scopes", NOON, 0, "utf-8")
    text = "Grüße\n" + ("\n" + "".join(f"{key}: {value}\n" for key, value in trailers) if trailers else "")
    theirs = repository.git.create_commit_string(signature, signature, text, empty_tree, list(above))
    author = Identity("Jörg Ü", "jorg@humans.scopes")
    ours = format_commit(tree=empty_tree, parents=above, author=author, time=NOON, subject="Grüße", trailers=trailers)
    assert ours.decode() == theirs


def test_git_reads_every_field_of_a_commit(repository, empty_tree):
    trailers = [("Scopes-Message", "abc"), ("Scopes-To", "dave, erin")]
    parent = write_message(repository, "before")
    data = format_commit(tree=empty_tree, parents=[parent], author=CAROL, time=NOON, subject="hello", trailers=trailers)
    oid = repository.write(COMMIT, data)
    shown = git(repository, "log", "-1", "--format=%T|%P|%an|%ae|%at|%ai|%cn|%s|%(trailers:only,unfold)", oid)
    who = f"{empty_tree}|{parent}|carol|carol@agents.scopes|{NOON}|2026-01-01 12:00:00 +0000|carol|hello"
    assert shown.strip() == f"{who}|Scopes-Message: abc\nScopes-To: dave, erin"


@given(name=texts, email=texts, subject=texts, value=texts, time=st.integers())
def test_no_text_can_forge_a_line_of_a_commit(name, email, subject, value, time):
    """B-14, B-18, B-20: newlines, NUL, angle brackets, surrogates; storage pitfalls 6 and 7."""
    data = commit_bytes(name, email, subject, [("Scopes-Message", value)], time)
    head, _, body = data.decode().partition("\n\n")
    assert [line.partition(" ")[0] for line in head.split("\n")] == ["tree", "author", "committer"]
    assert "\0" not in head
    assert len(body.split("\n")) == 4  # subject, empty, trailer, end
    commit = parsed(data)
    assert commit.author.name
    assert commit.author.email
    assert commit.trailers == {"Scopes-Message": one_line(value, limit=None)}
    assert commit.subject == one_line(subject)


def test_git_fsck_accepts_commits_with_hostile_texts(repository, empty_tree):
    tips = [write_message(repository, "base")]
    for text in HOSTILE:
        data = format_commit(
            tree=empty_tree,
            parents=tips[-1:],
            author=Identity(text, text),
            time=NOON,
            subject=text,
            trailers=[("Scopes-To", text)],
        )
        git(repository, "hash-object", "-t", "commit", "--stdin", stdin=data)
        tips.append(repository.write(COMMIT, data))
    git(repository, "update-ref", "refs/heads/conv-001/main", tips[-1])
    assert_sound(repository)
    assert len(git(repository, "log", "--format=%h", tips[-1]).split()) == len(tips)


@pytest.mark.parametrize(
    ("given_time", "kept"),
    [(0, 0), (-1, 0), (-(2**63), 0), (1, 1), (NOON, NOON), (2**31, 2**31), (2**32 - 1, 2**32 - 1), (2**32, MAX_TIME_SECONDS),
     (2**53, MAX_TIME_SECONDS), (2**63, MAX_TIME_SECONDS), (10**40, MAX_TIME_SECONDS)],
)  # fmt: skip
def test_a_time_is_clamped_to_the_range_of_git_and_libgit2(repository, empty_tree, given_time, kept):
    """B-19, storage pitfall 8: -1 would mean now, milliseconds would be garbage."""
    data = format_commit(tree=empty_tree, parents=[], author=CAROL, time=given_time, subject="x")
    oid = repository.write(COMMIT, data)
    assert parsed(data).time == kept
    assert repository.git[oid].commit_time == kept
    assert git(repository, "log", "-1", "--format=%at", oid).strip() == str(kept)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines", "two lines"),
        ("  padded\t\ttext  ", "padded text"),
        ("a\0b\x1b[0m\x7f\x9b", "a\\x00b\\x1b[0m\\x7f\\x9b"),
        ("\ud800", "\\ud800"),
        ("a\u2028b\x85c", "a b c"),
        ("x" * 73, "x" * 72),
        ("é" * 100, "é" * 72),
        ("x" * 71 + " y", "x" * 71),
        ("", ""),
    ],
)
def test_a_text_becomes_one_line_of_72_code_points(text, line):
    assert one_line(text) == line


def test_long_texts_are_cut_quickly():
    assert one_line(" " * 10_000_000) == ""
    assert one_line("x\n" * 10_000_000) == ("x " * 36).strip()


def test_the_first_of_a_repeated_trailer_counts_and_foreign_ones_are_not_ours():
    """Storage pitfall 9."""
    data = commit_bytes(
        trailers=[("Scopes-To", "a"), ("Scopes-To", "b"), ("Signed-off-by", "me"), ("Scopes-Kind", "plain")]
    )
    assert parsed(data).trailers == {"Scopes-To": "a", "Scopes-Kind": "plain"}


def test_only_the_last_paragraph_contains_trailers():
    data = commit_bytes().replace(b"\n\na\n", b"\n\nsubject\n\nScopes-Kind: root\n\nScopes-Kind: plain\n")
    assert parsed(data).trailers == {"Scopes-Kind": "plain"}
    assert parsed(commit_bytes(subject="Scopes-Kind: root")).trailers == {}


@pytest.mark.parametrize(
    ("who", "name", "email", "time"),
    [
        (b"carol <c@x> 5 +0200", "carol", "c@x", 5),
        (b"carol <c@x> -5 +0200", "carol", "c@x", 0),
        (b"carol <c@x> \xc2\xb2 +0000", "carol", "c@x", 0),
        (b"carol <c@x> " + b"9" * 5000 + b" +0000", "carol", "c@x", 0),
        (b"<c@x> 5 +0000", "", "c@x", 5),
        (b" <> 5 +0000", "", "", 5),
        (b"carol", "carol", "", 0),
        (b"", "", "", 0),
        (b"\xff\xfe <c@x> 5 +0000", "\ufffd\ufffd", "c@x", 5),
    ],
)
def test_a_malformed_author_line_is_read_as_far_as_possible(who, name, email, time):
    commit = parsed(b"tree %s\nauthor %s\ncommitter x <y> 1 +0000\n\nhi\n" % (EMPTY_TREE.encode(), who))
    assert (commit.author, commit.time, commit.subject) == (Identity(name, email), time, "hi")


def test_commits_of_git_are_read(repository, empty_tree):
    """D-43: a signature, an encoding, a merge, no body."""
    parents = [write_message(repository, text) for text in "ab"]
    oid = git(
        repository, "commit-tree", empty_tree, "-p", parents[0], "-p", parents[1], "-m", "by hand\n\nbody\n"
    ).strip()
    commit = parse_commit(Oid(oid), repository.read(Oid(oid))[1])
    assert (commit.parents, commit.subject, commit.author) == (tuple(parents), "by hand", Identity("t", "t@t"))
    extra = b"\ngpgsig -----BEGIN\n line\n -----END\nencoding latin1\n\nsigned"
    signed = parsed(commit_bytes().partition(b"\n\n")[0] + extra)
    assert (signed.subject, signed.author.name) == ("signed", "carol")


def test_a_header_before_the_author_is_skipped():
    head = b"tree %s\nencoding latin1\nauthor carol <c@x> 5 +0000\ncommitter x <y> 1 +0000" % EMPTY_TREE.encode()
    assert (parsed(head + b"\n\nhi").author, parsed(head).time) == (Identity("carol", "c@x"), 5)
    nobody = parsed(b"tree %s\ncommitter x <y> 1 +0000\n\nauthor z <z> 2\n" % EMPTY_TREE.encode())
    assert (nobody.author, nobody.time, nobody.subject) == (Identity("", ""), 0, "author z <z> 2")


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"garbage", b"parent x\n\nhi", b"\xff" * 100, b"Tree " + EMPTY_TREE.encode()]
)
def test_parse_commit_refuses_bytes_that_are_not_a_commit(data):
    with pytest.raises(Corrupt):
        parsed(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_as_a_commit_or_corrupt(data):
    for prefix in (b"", b"tree ", b"tree %s\nauthor " % EMPTY_TREE.encode()):
        try:
            parsed(prefix + data)
        except Corrupt:
            continue


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text("ab.-0=%é", min_size=1, max_size=4), unique=True, max_size=12), trees=st.integers(0, 2**12)
)
def test_a_tree_has_the_same_bytes_as_with_libgit2(repository, names, trees):
    """Git has its own order of `a`, `a.b`, `a/` and `a0`."""
    blob, tree = repository.write(BLOB, b"x"), repository.write(TREE, b"")
    builder = repository.git.TreeBuilder()
    entries = []
    for number, name in enumerate(name for name in names if name not in {".", ".."}):
        is_tree = bool(trees >> number & 1)
        entries.append(TreeEntry(name, tree if is_tree else blob, is_tree))
        builder.insert(name, pygit2.Oid(hex=entries[-1].oid), 0o40000 if is_tree else 0o100644)
    ours = repository.write(TREE, format_tree(entries))
    assert ours == str(builder.write())
    assert parse_tree(repository.read(ours)[1]) == {entry.name: entry for entry in entries}


@pytest.mark.parametrize("names", [["a", "a.b", "a0", "a-b"], ["state", "message.json"], ["x=", "x", "x%2F", "é", "z"]])
@pytest.mark.parametrize("trees", [0, 1, 2, 3])
def test_a_tree_has_the_same_id_as_with_git_mktree(repository, names, trees):
    blob, tree = repository.write(BLOB, b"x"), repository.write(TREE, b"")
    entries = [TreeEntry(name, tree if n < trees else blob, n < trees) for n, name in enumerate(names)]
    lines = "".join(f"{'040000 tree' if e.is_tree else '100644 blob'} {e.oid}\t{e.name}\n" for e in entries)
    ours = repository.write(TREE, format_tree(entries))
    assert ours == git(repository, "mktree", "--missing", stdin=lines.encode()).strip()


@given(names=st.lists(any_byte_names, unique=True, max_size=10))
def test_a_name_that_is_not_utf_8_is_preserved(names):
    lines = sorted(names)
    data = b"".join(b"100644 %s\0%s" % (name, b"\x11" * 20) for name in lines)
    assert format_tree(parse_tree(data).values()) == data


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"100644",
        b"100644 a",
        b"100644 a\0",
        b"100644 a\0" + b"1" * 19,
        b"\0" * 30,
        b"100644 a\0" + b"1" * 20 + b"junk",
    ],
)
def test_bytes_that_are_not_a_tree_are_corrupt(data):
    with pytest.raises(Corrupt):
        parse_tree(data)


@given(names=st.lists(any_byte_names, unique=True, max_size=6), other=any_byte_names)
def test_find_in_tree_agrees_with_parse_tree(names, other):
    data = b"".join(b"40000 %s\0%s" % (name, name[:1] * 20) for name in sorted(names))
    entries = parse_tree(data)
    for name in (*names, other):
        text = name.decode("utf-8", "surrogateescape")
        assert find_in_tree(data, text) == entries.get(text)


def test_an_entry_is_not_found_inside_an_id_or_a_longer_name():
    data = b"100644 xa\0" + b" a\0" * 6 + b"..40000 b\0" + b"\x11" * 20
    assert find_in_tree(data, "a") is None
    assert find_in_tree(data, "b") == TreeEntry("b", Oid("11" * 20), is_tree=True)
    with pytest.raises(Corrupt):
        find_in_tree(data[:-1], "b")


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_as_a_tree_or_corrupt(data):
    try:
        entries = parse_tree(data)
    except Corrupt:
        return
    assert all(len(entry.oid) == 40 for entry in entries.values())


def test_the_empty_tree_has_the_id_of_git(repository):
    assert repository.write(TREE, format_tree([])) == EMPTY_TREE
    assert git(repository, "hash-object", "-t", "tree", "/dev/null").strip() == EMPTY_TREE


def test_the_comparison_with_git_can_fail(repository):
    """Git rejects a tree in the wrong order, so the tests above can fail."""
    blob = bytes.fromhex(repository.write(BLOB, b"x"))
    tree = repository.write(TREE, b"100644 b\0" + blob + b"100644 a\0" + blob)
    commit = format_commit(tree=tree, parents=[], author=CAROL, time=NOON, subject="x")
    git(repository, "update-ref", "refs/heads/conv-001/main", repository.write(COMMIT, commit))
    with pytest.raises(AssertionError, match="not properly sorted"):
        assert_sound(repository)


@given(
    parents=st.integers(0, 3),
    name=texts,
    subject=texts,
    keys=st.lists(
        st.sampled_from(["Scopes-Message", "Scopes-Kind", "Scopes-To", "Scopes-Other"]), min_size=0, max_size=4
    ),
    value=texts,
)
def test_a_commit_as_scopes_writes_it_is_parsed_as_any_other_commit(parents, name, subject, keys, value):
    """The fast path gives the same result as the general parser, which reads the same fields after a further header."""
    data = format_commit(
        tree=EMPTY_TREE,
        parents=[Oid(f"{number:040x}") for number in range(parents)],
        author=Identity(name, name),
        time=NOON,
        subject=subject,
        trailers=[(key, f"{value}{number}") for number, key in enumerate(keys)],
    )
    general = data.replace(b"\ncommitter ", b"\nencoding utf-8\ncommitter ", 1)
    assert parsed(data) == parsed(general)
    expected: dict[str, str] = {}
    for number, key in enumerate(keys):
        expected.setdefault(key, one_line(f"{value}{number}", limit=None))
    assert list(parsed(data).trailers.items()) == list(expected.items())


def test_the_fields_of_a_commit_are_its_trailers():
    """A commit with the trailers of a message keeps no mapping of them: very many may be in memory."""
    usual = parsed(commit_bytes(trailers=[("Scopes-Message", "m1"), ("Scopes-Kind", "plain"), ("Scopes-To", "dave")]))
    assert (usual.message_id, usual.kind, usual.to, usual.other_trailers) == ("m1", "plain", "dave", None)
    other = parsed(commit_bytes(trailers=[("Scopes-Kind", "plain"), ("Scopes-Message", "m1")]))
    assert (other.message_id, other.kind, other.to) == ("m1", "plain", None)
    assert list(other.trailers) == list(other.other_trailers) == ["Scopes-Kind", "Scopes-Message"]


@given(
    names=st.lists(st.text("ab.-0=%é ", min_size=1, max_size=4), unique=True, max_size=40),
    wanted=st.text("ab.-0=%é ", min_size=1, max_size=4),
    cut=st.integers(0, 60),
)
def test_one_entry_of_a_tree_is_found_as_in_the_whole_tree(names, wanted, cut):
    """Small trees are read entry by entry, large ones at once; a damaged tree is corrupt unless the entry comes first."""
    data = format_tree(TreeEntry(name, Oid(f"{number:040x}"), number % 2 == 1) for number, name in enumerate(names))
    for name in (wanted, *names):
        assert find_in_tree(data, name) == parse_tree(data).get(name)
    damaged = data[: max(0, len(data) - cut)]
    try:
        expected = parse_tree(damaged).get(wanted)
    except Corrupt:
        with contextlib.suppress(Corrupt):
            found = find_in_tree(damaged, wanted)
            assert found is not None
            assert found == parse_tree(data).get(wanted)
    else:
        assert find_in_tree(damaged, wanted) == expected


READ = outcome("print(open_store(path).read(sys.argv[2])[0])")


@pytest.fixture
def objects(repository):
    return os.path.join(repository.path, "objects")


def put(objects, oid, stored):
    write_bytes(os.path.join(objects, oid[:2], oid[2:]), stored)


@pytest.mark.parametrize("data", [b"", b"x", b"\0\xff\r\n" * 1000, random.Random(1).randbytes(200_000)], ids=len)
def test_objects_written_by_git_and_libgit2_are_read(repository, objects, data):
    theirs = git(repository, "hash-object", "-w", "--stdin", stdin=data).strip()
    assert find_loose(objects, theirs) == (BLOB, data)
    os.unlink(loose_path(repository, theirs))
    assert repository.write(BLOB, data) == theirs
    assert find_loose(objects, theirs) == (BLOB, data)


def test_every_kind_of_object_is_recognized(repository, objects):
    commit = write_message(repository, "one")
    repository.write(TREE, b"")
    tag = git(
        repository, "mktag", stdin=f"object {commit}\ntype commit\ntag v1\ntagger t <t@t> 1 +0000\n\nx\n".encode()
    ).strip()
    assert [find_loose(objects, oid)[0] for oid in (commit, EMPTY_TREE, tag)] == [COMMIT, TREE, "tag"]


def test_a_missing_loose_object_is_none(objects):
    assert find_loose(objects, Oid("0" * 40)) is None


def test_every_truncated_object_is_corrupt_and_none_hangs(repository, objects):
    """D-37; libgit2 1.9.7 loops forever on most of these lengths (issue 7342)."""
    oid = repository.write(BLOB, random.Random(1).randbytes(500))
    stored = read_bytes(loose_path(repository, oid))
    for length in range(len(stored)):
        put(objects, oid, stored[:length])
        with pytest.raises(Corrupt, match=f"object {oid} is damaged"):
            find_loose(objects, oid)


def test_every_flipped_bit_is_detected(repository, objects):
    """D-36."""
    oid = repository.write(BLOB, b"some text" * 3)
    stored = read_bytes(loose_path(repository, oid))
    for place in range(len(stored) * 8):
        flipped = bytearray(stored)
        flipped[place // 8] ^= 1 << place % 8
        put(objects, oid, bytes(flipped))
        try:
            assert find_loose(objects, oid) == (BLOB, b"some text" * 3), place  # a bit that zlib ignores
        except Corrupt:
            continue


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"blob",
        b"blob 3",
        b"blob 3\0four",
        b"blob 99\0x",
        b"blob x\0y",
        b"blob -1\0",
        b"blob 1 \0x",
        b"blb 1\0x",
        b"\xff 1\0x",
        b"blob 01\0x",
    ],
)
def test_a_file_with_a_wrong_header_is_corrupt(objects, content):
    """A size that is too small makes libgit2 write beyond its buffer (issue 7177)."""
    oid = Oid(hashlib.sha1(content).hexdigest())
    put(objects, oid, zlib.compress(content))
    with pytest.raises(Corrupt):
        find_loose(objects, oid)


def test_the_content_of_another_object_is_corrupt(objects):
    """A file under the wrong name."""
    put(objects, Oid("5" * 40), zlib.compress(b"blob 1\0x"))
    with pytest.raises(Corrupt):
        find_loose(objects, Oid("5" * 40))


@pytest.mark.parametrize("damage", ["truncated", "empty", "missing", "sound"])
def test_a_command_ends_at_a_damaged_object(repository, damage):
    """D-36, D-37, D-40: in a subprocess with a timeout."""
    oid = write_message(repository, "one" * 100)
    path = loose_path(repository, oid)
    stored = read_bytes(path)
    write_bytes(path, {"truncated": stored[: len(stored) // 2], "empty": b""}.get(damage, stored))
    if damage == "missing":
        os.unlink(path)
    output = Process(READ, repository.path, oid).finish(timeout=10)
    expected = {"sound": "commit", "missing": f"not-found|4|object {oid} is not in the store"}
    assert output.startswith(expected.get(damage, f"corrupt|7|object {oid} is damaged"))


def test_an_unreadable_directory_of_objects_is_an_error_of_a_walk_over_history(repository):
    """R5: a file or a named pipe in place of one of the 256 directories."""
    one, two = write_chain(repository, "one", "two")
    directory = os.path.dirname(loose_path(repository, one))
    os.rename(directory, f"{directory}-away")
    os.mkfifo(directory)
    for walk in (is_ancestor, list_merge_bases):
        with pytest.raises((Inaccessible, Corrupt)):
            walk(repository, one, two)
