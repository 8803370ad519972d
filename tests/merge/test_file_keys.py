"""Files as keys of a merge: one file is one key however it is written, and the agent that called the tool is named."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append_all
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import cat
from scopes.conversation.stats import files
from scopes.history.handles import StoreHandle
from tests.support.history import say
from tests.support.tool_calls import call_tool, checked

WORK = "/work/shop"


def call(repository, where, path, *, agent="claude", failed=False):
    arguments = {"file_path": path, "old_string": "a", "new_string": where}
    return call_tool(repository, where, "Edit", arguments, agent=agent, kinds=False, is_error=failed)


def forked(repository):
    new(repository, directory=WORK)
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt")


def test_the_result_of_a_live_call_names_the_files_of_the_call(repository):
    """S1-2."""
    forked(repository)
    appended = call(repository, "conv-001/main", f"{WORK}/src/app.py")
    assert [(touch.path, touch.op) for touch in cat(repository, appended.id).message.files] == [
        (f"{WORK}/src/app.py", "edit")
    ]
    [row] = files(repository, "conv-001/main").files
    assert (row.path, row.operations, row.last_author) == (f"{WORK}/src/app.py", {"edit": 1}, "claude")


def test_a_failed_call_names_no_files(repository):
    forked(repository)
    appended = call(repository, "conv-001/main", "src/app.py", failed=True)
    assert cat(repository, appended.id).message.files == ()


def test_messages_appended_together_find_the_calls_among_each_other(repository):
    forked(repository)
    patch = "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** Delete File: old.py\n*** End Patch\n"
    messages = [
        {"author": "codex", "parts": [{"type": "tool_call", "call_id": "p", "name": "apply_patch", "input_text": patch}]},
        {"author": {"name": "tool", "kind": "tool"}, "parts": [{"type": "tool_result", "call_id": "p", "output": "ok"}]},
    ]  # fmt: skip
    handle = StoreHandle(repository).branch("conv-001", "main")
    appended = append_all(handle, [checked(message) for message in messages])
    touches = cat(repository, appended[1].id).message.files
    assert [(touch.path, touch.op, touch.content_hash is not None) for touch in touches] == [
        ("new.py", "create", True),
        ("old.py", "delete", False),
    ]


@pytest.mark.parametrize("spelled", [f"{WORK}/src/app.py", "./src/app.py", "src//app.py", f"{WORK}/lib/../src/app.py"])
def test_a_file_is_one_key_however_its_path_is_written(repository, spelled):
    forked(repository)
    call(repository, "conv-001/main", "src/app.py", agent="codex")
    call(repository, "conv-001/alt", spelled)
    [conflict] = merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts
    assert (conflict.type, conflict.key) == ("resource-contention", "files/src/app.py")
    assert [side[0].agent for side in (conflict.target, conflict.source)] == ["codex", "claude"]


@pytest.mark.parametrize("spelled", ["src/App.py", "SRC/app.py", "src/app.PY"])
def test_names_that_differ_in_case_are_different_files(repository, spelled):
    """Whether they are one file depends on the disk of somebody else."""
    forked(repository)
    call(repository, "conv-001/main", "src/app.py")
    call(repository, "conv-001/alt", spelled)
    assert merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts == ()


def test_links_of_the_disk_are_not_followed(repository, tmp_path):
    """A merge reads no files: it has the same result on every machine."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    new(repository, directory=str(tmp_path))
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt")
    call(repository, "conv-001/main", "real/app.py")
    call(repository, "conv-001/alt", "link/app.py")
    assert merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts == ()


@pytest.mark.parametrize("spelled", ["src/caf\u00e9.py", "src/a b.py", "src/100%.py", "src/-rf", "src/\U0001f600.py"])
def test_unusual_names_are_keys_too(repository, spelled):
    forked(repository)
    call(repository, "conv-001/main", spelled, agent="codex")
    call(repository, "conv-001/alt", f"{WORK}/{spelled}")
    [file] = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    assert file.path == spelled


def test_a_path_that_leaves_the_directory_and_returns_is_the_same_file(repository):
    forked(repository)
    call(repository, "conv-001/main", "../shop/src/app.py", agent="codex")
    call(repository, "conv-001/alt", "src/app.py")
    [conflict] = merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts
    assert conflict.key == "files/src/app.py"


def test_without_a_directory_relative_paths_are_compared_as_they_are(repository):
    new(repository)
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt")
    call(repository, "conv-001/main", "src/app.py", agent="codex")
    call(repository, "conv-001/alt", "./src/app.py")
    [conflict] = merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts
    assert conflict.key == "files/src/app.py"


def test_a_file_that_only_one_side_edited_is_not_listed(repository):
    forked(repository)
    call(repository, "conv-001/main", "src/app.py")
    call(repository, "conv-001/alt", "src/other.py")
    merged = merge(repository, "conv-001", "alt", target="main")
    assert (merged.conflicts, merged.files) == ((), ())
    assert {row.path for row in files(repository, "conv-001/main").files} == {"src/app.py", "src/other.py"}


def test_a_file_that_a_side_only_read_is_not_listed(repository):
    forked(repository)
    call(repository, "conv-001/main", "src/app.py")
    call_tool(repository, "conv-001/alt", "Read", {"file_path": f"{WORK}/src/app.py"})
    assert merge(repository, "conv-001", "alt", target="main", dry_run=True).files == ()


def test_a_file_outside_of_the_directory_is_another_file(repository):
    forked(repository)
    call(repository, "conv-001/main", "src/app.py")
    call(repository, "conv-001/alt", "/elsewhere/src/app.py")
    assert merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts == ()
