"""`verify FILE`: compare every byte of a transcript on disk with the stored source."""

from __future__ import annotations

import os

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.append import append
from scopes.conversation.branch import rewind
from scopes.conversation.new_rename_delete import delete
from scopes.errors import CannotImport, Corrupt, Invalid, NotFound
from scopes.history.messages import message_id_of, plain_message
from scopes.history.names import list_branch_tips
from scopes.history.sources import SOURCES
from scopes.ids import Oid
from scopes.importers.archive import walk_segments
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS as REAL_FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.verify_source import verify_source
from scopes.store.objects import BLOB, COMMIT, Identity, format_commit, read_blob, read_commit, update_tree, walk_blobs
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.reading import real_transcript
from tests.support.examples import examples

FORMATS = (DemoFormat(),)


@pytest.fixture
def path(repository, tmp_path):
    """Return an imported transcript of three messages, a title and an invalid line."""
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c"), {"title": "Shop"})
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes() + b"torn\n")
    import_sources(repository, find_sources(source.path), FORMATS)
    return source.path


def change(path, data):
    """Replace the bytes of a file."""
    with open(path, "wb") as file:
        file.write(data)


def content(path):
    """Read a file."""
    with open(path, "rb") as file:
        return file.read()


def account(seen):
    """Return the byte counts; assert that their sum is the size of the file."""
    counts = (seen.message_bytes, seen.state_bytes, seen.unparsed_bytes, seen.new_bytes)
    assert sum(counts) == seen.size == os.path.getsize(seen.path)
    return counts


def test_an_unchanged_file_is_whole(repository, path):
    seen = verify_source(repository, path, FORMATS)
    assert (seen.comparison, seen.whole, seen.exit_code, seen.findings) == ("equal", True, 0, ())
    assert (seen.messages, seen.away, seen.native_id, seen.format) == (3, 0, "s1", "demo")
    assert account(seen)[2:] == (len(b"torn\n"), 0)


def test_bytes_added_since_the_import_are_new(repository, path):
    before = account(verify_source(repository, path, FORMATS))
    change(path, content(path) + b'{"title": "New"}\n')
    seen = verify_source(repository, path, FORMATS)
    assert (seen.comparison, seen.whole, seen.exit_code) == ("grown", False, 1)
    assert account(seen) == (*before[:3], 17)
    assert seen.findings[0].problem == "17 bytes were added to the file after its import"
    assert seen.findings[0].cure == f"import them with: scopes import {path}"


def test_a_truncated_file_is_whole_with_a_warning(repository, path):
    whole = content(path)
    change(path, whole[:-30])
    seen = verify_source(repository, path, FORMATS)
    assert (seen.comparison, seen.whole, seen.exit_code) == ("cut", True, 0)
    assert account(seen)[2:] == (0, 0)
    assert seen.findings[0].problem == "the file is 30 bytes shorter than the stored source"


def test_a_rewritten_file_differs_from_a_byte_offset(repository, path):
    whole = content(path)
    at = whole.index(b"say b") + 4
    change(path, whole.replace(b"say b", b"say x"))
    seen = verify_source(repository, path, FORMATS)
    assert (seen.comparison, seen.exit_code, seen.equal_bytes, seen.new_bytes) == ("different", 1, at, len(whole) - at)
    assert seen.findings[0].problem == f"the file differs from the imported bytes from byte {at} on"
    assert account(seen)


@given(st.data())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_byte_counts_add_up_for_any_file(repository, path, data):
    """Equal and different bytes add up to the size of the file."""
    whole = content(path)
    start = data.draw(st.integers(40, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    changed = whole[:start] + data.draw(st.binary(max_size=8)) + whole[end:]
    change(path, changed)
    try:
        seen = verify_source(repository, path, FORMATS)
    finally:
        change(path, whole)
    equal = seen.equal_bytes
    assert whole[:equal] == changed[:equal]
    assert whole[equal : equal + 1] != changed[equal : equal + 1] or whole == changed
    assert seen.message_bytes + seen.state_bytes + seen.unparsed_bytes + seen.new_bytes == len(changed) == seen.size
    assert seen.whole == whole.startswith(changed)


def test_a_file_that_was_never_imported_is_refused_with_a_hint(repository, tmp_path):
    source = write_transcript(tmp_path / "other one.jsonl", *session_records("s9", "a"))
    with pytest.raises(NotFound) as refusal:
        verify_source(repository, source.path, FORMATS)
    assert refusal.value.hint == f"import it with: scopes import '{source.path}'"


def test_a_file_of_unknown_format_is_refused_as_by_import(repository, tmp_path):
    (tmp_path / "notes.jsonl").write_text("notes\n")
    with pytest.raises(CannotImport):
        verify_source(repository, str(tmp_path / "notes.jsonl"), FORMATS)


def test_a_folder_is_refused(repository, tmp_path):
    with pytest.raises(Invalid):
        verify_source(repository, str(tmp_path), FORMATS)


def test_a_file_of_unknown_format_is_found_by_its_bytes(repository, path):
    assert verify_source(repository, path, REAL_FORMATS).whole


def test_a_compressed_file_is_compared_by_its_plain_bytes(repository, path):
    packed = f"{path}.zst"
    change(packed, zstd.compress(content(path)))
    seen = verify_source(repository, packed, FORMATS)
    assert (seen.comparison, seen.size) == ("equal", os.path.getsize(path))


def test_a_copy_that_differs_is_found_as_a_part(repository, tmp_path):
    one = write_transcript(tmp_path / "1.jsonl", *session_records("s1", "a b c"))
    two = write_transcript(tmp_path / "2.jsonl", *session_records("s1", "a x"))
    import_sources(repository, [one, two], FORMATS)
    assert verify_source(repository, one.path, FORMATS).part is None
    seen = verify_source(repository, two.path, FORMATS)
    assert (seen.whole, seen.part[:5], seen.messages) == (True, "copy-", 2)


def test_deleted_messages_are_reported(repository, path):
    delete(repository, "conv-001")
    seen = verify_source(repository, path, FORMATS)
    assert (seen.whole, seen.away, seen.exit_code) == (True, 3, 0)
    assert "3 of its messages were deleted or rewound here" in seen.findings[0].problem


def test_rewound_messages_are_reported_missing(repository, path):
    rewind(repository, "conv-001", count=2)
    assert verify_source(repository, path, FORMATS).away == 2


def test_messages_on_any_branch_are_found(repository, path):
    append(repository, "conv-001", plain_message("carol", "mine"))
    assert (verify_source(repository, path, FORMATS).away, verify_source(repository, path, FORMATS).messages) == (0, 3)


def damage(repository, edit):
    """Replace the record of a stored source by one with edited files."""
    ref, oid = next(iter(repository.list_refs(SOURCES).items()))
    tree = read_commit(repository, Oid(oid)).tree
    files = {name: read_blob(repository, blob) for name, blob in walk_blobs(repository, tree)}
    changes = {name: repository.write(BLOB, edit(data)) for name, data in files.items() if edit(data) != data}
    assert changes
    data = format_commit(
        tree=update_tree(repository, tree, changes), parents=(), author=Identity("t", "t@t"), time=0, subject="t"
    )
    repository.git.references.get(ref).set_target(repository.write(COMMIT, data))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"length":', b'"length":1', "its segments do not cover each byte exactly once"),
        (b"say b", b"say x", "the stored bytes are not those that were imported"),
        (b'"message":"', b'"message":"aaaaaaa', "is not in the store"),
    ],
)
def test_damage_of_the_stored_source_is_an_error(repository, path, old, new, problem):
    damage(repository, lambda data: data.replace(old, new))
    seen = verify_source(repository, path, FORMATS)
    assert (seen.whole, seen.exit_code) == (False, 7)
    assert any(problem in found.problem for found in seen.findings if found.severity == "error")


def test_a_missing_object_is_damage(repository, path):
    damage(repository, lambda data: data.replace(b'"v":1', b'"v": 1'))
    oid = next(iter(repository.list_refs(SOURCES).values()))
    os.remove(os.path.join(repository.path, "objects", oid[:2], oid[2:]))
    with pytest.raises(Corrupt):
        verify_source(repository, path, FORMATS)


@pytest.mark.parametrize(
    "name", ["claude-code/v2.1.32_188-fanouts_big.jsonl", "codex/v0.118_subagent-fork_2-session_meta.jsonl"]
)
def test_a_real_transcript_is_whole(repository, name):
    source = real_transcript(*name.split("/"))
    import_sources(repository, find_sources(source), REAL_FORMATS)
    seen = verify_source(repository, source, REAL_FORMATS)
    assert (seen.whole, seen.findings) == (True, ())
    assert account(seen)[3] == 0
    stored = {s.message for s in walk_segments(repository, Oid(next(iter(repository.list_refs(SOURCES).values()))))}
    assert len(stored - {None}) == seen.messages
    assert message_id_of(read_commit(repository, list_branch_tips(repository, "conv-001")["main"])) in stored
