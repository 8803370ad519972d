"""Which files an import finds, and which it skips."""

from __future__ import annotations

import errno
import os

import pytest

from scopes.errors import CannotImport, Inaccessible, NotFound
from scopes.importers.discovery import find_outside_links, find_sources, find_standard_folders, spool_stream
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo, skipped_paths
from tests.support.store import make_store

DEMO = b'{"session": "s1"}\n{"id": "a", "parent": null, "by": "user", "say": "a"}\n'


def tree(folder, **files):
    """Write files; `__` in a name stands for `/`."""
    for name, data in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def names(folder):
    return [os.path.relpath(source.path, folder) for source in find_sources(str(folder))]


def test_a_file_gives_one_source(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(DEMO)
    assert find_sources(str(path)) == [Source(str(path), len(DEMO))]


def test_a_folder_is_all_transcripts_below_it_sorted_by_name(tmp_path):
    tree(tmp_path, b=DEMO, a__z=DEMO, a__b__c=DEMO)
    (tmp_path / "notes.txt").write_text("none")
    assert names(tmp_path) == ["a/b/c.jsonl", "a/z.jsonl", "b.jsonl"]


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(NotFound):
        find_sources(str(tmp_path / "none"))


def test_a_folder_without_transcripts_is_refused(tmp_path):
    with pytest.raises(CannotImport, match="contains no transcripts"):
        find_sources(str(tmp_path))


def test_a_folder_without_such_names_is_searched_by_content(tmp_path):
    """A folder of SpecStory files may lie anywhere, and a transcript may have any name."""
    (tmp_path / "notes.md").write_text("# Notes\n")
    record = '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    (tmp_path / "run.log").write_text(record)
    assert [source.path for source in find_sources(str(tmp_path))] == [str(tmp_path / "run.log")]


def test_a_pipe_is_never_opened(tmp_path):
    """Opening a pipe would wait for a writer forever."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(CannotImport, match="not a regular file"):
        find_sources(str(tmp_path / "pipe.jsonl"))
    tree(tmp_path, a=DEMO)
    assert names(tmp_path) == ["a.jsonl"]


def test_a_device_is_never_opened(tmp_path):
    with pytest.raises(CannotImport, match="not a regular file"):
        find_sources("/dev/zero")
    tree(tmp_path, a=DEMO)
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    assert (names(tmp_path), find_outside_links([str(tmp_path)])) == (["a.jsonl"], [])


def test_cyclic_links_end(tmp_path):
    tree(tmp_path, a__b=DEMO)
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert (names(tmp_path), find_outside_links([str(tmp_path)])) == (["a/b.jsonl"], [])


def test_a_link_that_vanishes_while_the_folder_is_read_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    (tmp_path / "gone").symlink_to("/proc/1/exe")
    monkeypatch.setattr(os, "readlink", lambda path, **_: (_ for _ in ()).throw(FileNotFoundError(2, "gone", path)))
    assert (names(tmp_path), find_outside_links([str(tmp_path)])) == (["a.jsonl"], [])


def test_a_link_out_of_the_folder_is_reported_and_not_followed(tmp_path):
    inside, outside = tree(tmp_path / "in", a=DEMO), tree(tmp_path / "out", b=DEMO)
    (inside / "c.jsonl").symlink_to(outside / "b.jsonl")
    (inside / "d").symlink_to(outside)
    (inside / "gone.jsonl").symlink_to(outside / "gone.jsonl")
    assert names(inside) == ["a.jsonl"]
    assert find_outside_links([str(inside)]) == [str(inside / "c.jsonl"), str(inside / "d")]


def test_a_folder_with_the_same_name_prefix_is_outside(tmp_path):
    inside, outside = tree(tmp_path / "in", a=DEMO), tree(tmp_path / "inner", b=DEMO)
    (inside / "c").symlink_to(outside)
    assert find_outside_links([str(inside)]) == [str(inside / "c")]


def test_a_link_between_two_imported_folders_is_not_reported(tmp_path):
    one, two = tree(tmp_path / "one", a=DEMO), tree(tmp_path / "two", b=DEMO)
    (one / "c.jsonl").symlink_to(two / "b.jsonl")
    assert find_outside_links([str(one), str(two)]) == []


def test_a_named_link_is_followed(tmp_path):
    tree(tmp_path / "in", a=DEMO)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    assert [source.path for source in find_sources(str(tmp_path / "link"))] == [str(tmp_path / "link" / "a.jsonl")]
    assert find_outside_links([str(tmp_path / "link")]) == []


def test_a_file_has_no_links_below_it(tmp_path):
    assert find_outside_links([str(tree(tmp_path, a=DEMO) / "a.jsonl")]) == []


def test_a_compressed_copy_of_a_plain_file_is_left_out(tmp_path):
    tree(tmp_path, a=DEMO)
    (tmp_path / "a.jsonl.zst").write_bytes(b"whatever")
    assert names(tmp_path) == ["a.jsonl"]


def test_a_damaged_compressed_file_in_a_folder_is_skipped(tmp_path):
    repository = make_store(tmp_path / "store.git")
    write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a"))
    (tmp_path / "b.jsonl.zst").write_bytes(b"no zstandard")
    done = import_demo(repository, *find_sources(str(tmp_path)))
    assert (branch_words(repository), skipped_paths(done)) == ("a", [str(tmp_path / "b.jsonl.zst")])
    with pytest.raises(CannotImport, match="damaged"):
        find_sources(str(tmp_path / "b.jsonl.zst"))


def test_a_file_that_was_deleted_meanwhile_is_skipped(tmp_path):
    repository = make_store(tmp_path / "store.git")
    gone = Source(str(tmp_path / "gone.jsonl"), 10)
    done = import_demo(repository, gone, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a")))
    assert (branch_words(repository), skipped_paths(done)) == ("a", [gone.path])
    with pytest.raises(Inaccessible, match="cannot be read"):
        import_demo(repository, gone)


def test_standard_folders_follow_the_agents_variables(tmp_path):
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / "elsewhere" / "sessions").mkdir(parents=True)
    found = find_standard_folders(FORMATS, {"CODEX_HOME": str(tmp_path / "elsewhere")}, str(tmp_path))
    assert found == {
        "Claude Code": [str(tmp_path / ".claude" / "projects")],
        "Codex": [str(tmp_path / "elsewhere" / "sessions")],
    }


def test_the_list_of_prompts_of_gemini_is_no_transcript(tmp_path):
    (tmp_path / "chats").mkdir()
    (tmp_path / "logs.json").write_text("[]")
    (tmp_path / "chats/session.jsonl").write_text("{}")
    assert [source.path for source in find_sources(str(tmp_path))] == [str(tmp_path / "chats/session.jsonl")]


@pytest.fixture
def forbidden(tmp_path, monkeypatch):
    """A folder with a transcript, an unreadable folder and an unreadable file."""
    folder = tree(tmp_path / "pd", a=DEMO, no__b=DEMO, c=DEMO)
    for module, name, closed in ((os, "scandir", folder / "no"), (os, "open", folder / "c.jsonl")):
        monkeypatch.setattr(module, name, refusing(str(closed), getattr(module, name)))
    return folder


def refusing(closed, function):
    """Patch a function so that it raises an error for one path."""

    def refuse(path, *rest, **named):
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return function(path, *rest, **named)

    return refuse


def test_unreadable_paths_below_a_folder_are_reported_with_the_reason(tmp_path, forbidden):
    """Reliability: nothing is skipped silently. Root may read everything, so the errors are simulated."""
    repository, skipped = make_store(tmp_path / "store.git"), []
    done = import_demo(repository, *find_sources(str(forbidden), skipped), skipped=skipped)
    missed = [f"{forbidden}/no", f"{forbidden}/c.jsonl"]
    reasons = [f"{path} cannot be read: Permission denied" for path in missed]
    assert [note.text for note in done.notes] == [f"2 files could not be imported; the first: {reasons[0]}"]
    assert list(done.details) == reasons
    assert skipped_paths(done) == missed


def test_strict_refuses_unreadable_files(tmp_path, forbidden):
    repository, skipped = make_store(tmp_path / "store.git"), []
    with pytest.raises(Inaccessible, match="cannot be read"):
        import_demo(repository, *find_sources(str(forbidden), skipped), skipped=skipped, strict=True)
    assert repository.list_refs() == {}


@pytest.mark.parametrize("name", ["no", "c.jsonl"])
def test_an_unreadable_named_path_is_refused(forbidden, name):
    """The error is not that it contains no transcripts."""
    with pytest.raises(Inaccessible, match=r"cannot .*read"):
        find_sources(str(forbidden / name))


class Endless:
    """A stream that never ends."""

    def read(self, size):
        return b"x" * size


def test_a_pipe_that_never_ends_leaves_room_on_the_disk(monkeypatch, tmp_path):
    """R5: the temporary file is removed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    room = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    monkeypatch.setattr("scopes.importers.discovery.MIN_FREE_BYTES", room - (20 << 20))
    with pytest.raises(Inaccessible, match=r"cannot copy the input '-' to .*: less than .* MiB would stay free"):
        spool_stream(Endless(), "-")
    assert os.listdir(tmp_path) == []
