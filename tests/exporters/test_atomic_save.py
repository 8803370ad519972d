"""Files are written atomically, and no existing file is overwritten by mistake."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from scopes.errors import Corrupt, Inaccessible, Invalid, NotFound, Refused
from scopes.exporters.atomic_save import save
from scopes.exporters.export import Exported, ExportedFile, export
from scopes.importers.import_sample import import_sample
from scopes.secret_scan.clearance import without_store
from tests.exporters.building import exported


def cleared(data):
    return without_store().clear(data, "a test")


def of(*pieces, name="a.md", failure=None):
    """Return an export of some bytes that may end with an exception."""

    def walk():
        yield from map(cleared, pieces)
        if failure is not None:
            raise failure

    return Exported(conversation="conv-001", format="markdown", messages=2, files=(ExportedFile(name, None, walk()),))


def several(*names):
    """Return an export of several files whose content is their name."""
    files = tuple(ExportedFile(name, name, iter([cleared(name.encode())])) for name in names)
    return Exported(conversation="conv-001", format="original", messages=None, files=files)


def everything(folder):
    """Return the files below a directory with their content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_holds_the_export_and_is_reported(repository, tmp_path):
    import_sample(repository)
    path = str(tmp_path / "out.json")
    saved = save(export(repository, "conv-001", format_name="json"), path)
    text = exported(repository)
    assert (tmp_path / "out.json").read_text() == text
    assert (saved.path, saved.format, saved.messages, saved.size_bytes) == (path, "json", 7, len(text.encode()))
    assert saved.files == ()


def test_no_temporary_file_is_left(tmp_path):
    save(of(b"one", b"two"), str(tmp_path / "out.md"))
    assert everything(tmp_path) == {"out.md": b"onetwo"}


def test_an_existing_file_is_not_overwritten(tmp_path):
    (tmp_path / "out.md").write_bytes(b"mine")
    with pytest.raises(Refused, match=r"file '.*/out.md' already exists") as refusal:
        save(of(b"new"), str(tmp_path / "out.md"))
    assert refusal.value.hint == "overwrite it with --force, or choose another name"
    assert everything(tmp_path) == {"out.md": b"mine"}


def test_force_overwrites_an_existing_file(tmp_path):
    (tmp_path / "out.md").write_bytes(b"mine")
    save(of(b"new"), str(tmp_path / "out.md"), force=True)
    assert everything(tmp_path) == {"out.md": b"new"}


@pytest.mark.parametrize("failure", [Corrupt("damaged"), KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("force", [False, True])
def test_a_failure_keeps_the_existing_file(tmp_path, failure, force):
    if force:
        (tmp_path / "out.md").write_bytes(b"mine")
    with pytest.raises(Inaccessible if isinstance(failure, OSError) else type(failure)):
        save(of(b"half", failure=failure), str(tmp_path / "out.md"), force=force)
    assert everything(tmp_path) == ({"out.md": b"mine"} if force else {})


def test_a_full_disk_is_reported(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(Inaccessible, match=r"cannot write '.*/out.md': no space left on device"):
        save(of(b"half", failure=full), str(tmp_path / "out.md"))
    assert everything(tmp_path) == {}


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_the_permissions(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        save(of(b"x"), str(tmp_path / "out.md"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.md").stat().st_mode) == mode


def test_a_symbolic_link_is_followed_and_kept(tmp_path):
    (tmp_path / "real.md").write_bytes(b"old")
    (tmp_path / "link.md").symlink_to("real.md")
    save(of(b"new"), str(tmp_path / "link.md"), force=True)
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_bytes() == b"new"


@pytest.mark.parametrize("force", [True, False])
def test_a_symbolic_link_to_a_missing_file_is_refused(tmp_path, force):
    """R8: whoever left the link chose where the file would be created. `cp` refuses it too."""
    (tmp_path / "dangling.md").symlink_to("new.md")
    with pytest.raises(Refused, match=r"'.*/dangling.md' is a symbolic link to 'new.md', which does not exist"):
        save(of(b"made"), str(tmp_path / "dangling.md"), force=force)
    assert os.listdir(tmp_path) == ["dangling.md"]


def test_a_target_that_is_not_a_regular_file_is_refused(tmp_path):
    """Tested with a pipe, because the test would damage a device if run as root."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Invalid, match="is not a regular file"):
        save(of(b"x"), str(tmp_path / "pipe"), force=True)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("path", ["none/out.md", "file/out.md"])
def test_a_missing_directory_is_reported(tmp_path, path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((NotFound, Inaccessible), match=r"directory '.*' not found"):
        save(of(b"x"), str(tmp_path / path))


def test_a_file_is_written_into_a_directory_under_its_suggested_name(tmp_path):
    saved = save(of(b"x"), str(tmp_path))
    assert everything(tmp_path) == {"a.md": b"x"}
    assert (saved.path, saved.files) == (str(tmp_path), ("a.md",))


def test_a_trailing_slash_creates_a_directory(tmp_path):
    assert save(of(b"x"), f"{tmp_path}/new/").files == ("a.md",)
    assert everything(tmp_path) == {"new/a.md": b"x"}
    with pytest.raises(NotFound, match=r"directory '.*' not found"):
        save(of(b"x"), f"{tmp_path}/none/new/")


def test_several_files_create_their_directory(tmp_path):
    saved = save(several("s1.jsonl", "s1.helper.jsonl"), str(tmp_path / "out"))
    assert everything(tmp_path / "out") == {"s1.jsonl": b"s1.jsonl", "s1.helper.jsonl": b"s1.helper.jsonl"}
    assert (saved.files, saved.size_bytes, saved.messages) == (("s1.jsonl", "s1.helper.jsonl"), 23, None)


def test_no_file_is_written_if_one_of_them_exists(tmp_path):
    (tmp_path / "two").write_bytes(b"mine")
    with pytest.raises(Refused, match="already exists"):
        save(several("one", "two"), str(tmp_path))
    assert everything(tmp_path) == {"two": b"mine"}
    save(several("one", "two"), str(tmp_path), force=True)
    assert everything(tmp_path) == {"one": b"one", "two": b"two"}


def test_several_files_are_not_written_to_a_regular_file(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(Invalid, match="is not a directory"):
        save(several("one", "two"), str(tmp_path / "file"), force=True)


def test_a_created_directory_is_removed_after_a_failure(tmp_path):
    broken = Exported(
        conversation="conv-001",
        format="original",
        messages=None,
        files=(*of(failure=Corrupt("x")).files, *several("b").files),
    )
    with pytest.raises(Corrupt):
        save(broken, str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_created_meanwhile_is_not_overwritten(tmp_path, monkeypatch, links):
    """Also on a file system without hard links."""

    def walk():
        yield cleared(b"mine")
        (tmp_path / "out.md").write_bytes(b"theirs")

    if not links:
        monkeypatch.setattr(os, "link", refuse_links)
    files = (ExportedFile("x", None, walk()),)
    with pytest.raises(Refused, match="already exists"):
        save(Exported(conversation="conv-001", format="json", messages=1, files=files), str(tmp_path / "out.md"))
    assert everything(tmp_path) == {"out.md": b"theirs"}


def refuse_links(source, target):
    """Fail as on a file system without hard links."""
    raise OSError(errno.EPERM, "Operation not permitted")


def test_without_hard_links_a_file_is_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refuse_links)
    save(of(b"x"), str(tmp_path / "out.md"))
    assert everything(tmp_path) == {"out.md": b"x"}


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_missing_permission_is_reported(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(Inaccessible, match="permission denied"):
        save(of(b"x"), str(tmp_path / "closed" / "out.md"))
