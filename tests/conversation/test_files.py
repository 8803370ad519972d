"""`files`: the files a conversation used, by which messages, and when last (S1-20)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.clock import new_id
from scopes.conversation.append import append
from scopes.conversation.branch import rewind
from scopes.conversation.new_rename_delete import new
from scopes.conversation.stats import files
from scopes.errors import NotFound
from scopes.history.messages import plain_message
from scopes.model.message import Author, FileTouch, Message, Part, file_operations
from tests.render.rendering import document, piped, seen_lines
from tests.render.results import SAMPLES
from tests.support.history import history, say


def touch(repository, path, op="edit", where="conv-001", day=1, author="carol", **more):
    """Append a message that uses one file, at noon of a day in February."""
    file = {"path": path, "op": op, **more}
    return say(repository, where, op, author=author, time=f"2026-02-{day:02}T12:00:00Z", files=[file])


def rows(repository):
    return {row.path: row for row in files(repository, "conv-001").files}


def test_a_file_lists_the_messages_that_touched_it_and_how(repository):
    """S1-20."""
    new(repository)
    appended = [touch(repository, "a.py", op) for op in ("read", "edit", "edit")]
    touch(repository, "b.py", "create")
    row = rows(repository)["a.py"]
    assert row.messages == tuple(message.id for message in appended)
    assert row.operations == {"read": 1, "edit": 2}
    assert set(rows(repository)) == {"a.py", "b.py"}


@pytest.mark.parametrize("paths", [("/home/dev/project/app.py", "app.py"), ("app.py", "/home/dev/project/app.py")])
def test_a_file_named_relatively_and_absolutely_is_one_row(repository, paths):
    new(repository, directory="/home/dev/project")
    for path, operation in zip(paths, ("read", "edit"), strict=True):
        touch(repository, path, operation)
    assert {path: row.operations for path, row in rows(repository).items()} == {
        "/home/dev/project/app.py": {"read": 1, "edit": 1}
    }


def test_a_row_has_the_last_operation_with_author_and_time(repository):
    """S1-20."""
    new(repository)
    touch(repository, "a.py", "create", day=1, author="carol")
    touch(repository, "a.py", "edit", day=3, author="dave")
    row = rows(repository)["a.py"]
    assert (row.last_touch, row.last_author, row.last_operation) == ("2026-02-03T12:00:00Z", "dave", "edit")


def test_of_two_uses_in_one_second_the_later_message_is_last(repository):
    """S1-20: an agent writes many messages per second."""
    new(repository)
    touch(repository, "a.py", "create", author="carol")
    touch(repository, "a.py", "edit", author="dave")
    row = rows(repository)["a.py"]
    assert (row.last_author, row.last_operation) == ("dave", "edit")


def test_the_last_use_is_found_across_branches(repository):
    """S1-20: author, time and operation are those of one message, regardless of the order of branches."""
    history(repository, "main: a", "fix:")
    touch(repository, "a.py", "edit", where="conv-001/main", day=5, author="carol")
    touch(repository, "a.py", "read", where="conv-001/fix", day=3, author="dave")
    touch(repository, "b.py", where="conv-001/fix", day=9)
    row = rows(repository)["a.py"]
    assert (row.last_touch, row.last_author, row.last_operation) == ("2026-02-05T12:00:00Z", "carol", "edit")


def test_files_are_sorted_by_last_use_then_by_path(repository):
    new(repository)
    for path, day in (("z.py", 2), ("b.py", 5), ("a.py", 2), ("c.py", 1)):
        touch(repository, path, day=day)
    assert [row.path for row in files(repository, "conv").files] == ["b.py", "a.py", "z.py", "c.py"]


def test_one_branch_can_be_named(repository):
    """D7."""
    history(repository, "main: a", "fix:")
    touch(repository, "main.py", where="conv-001/main")
    touch(repository, "fix.py", where="conv-001/fix")
    found = files(repository, "conv-001/fix")
    assert ([row.path for row in found.files], found.branch, found.branches) == (["fix.py"], "fix", ("fix",))
    assert files(repository, "conv-001").branches == ("fix", "main")
    with pytest.raises(NotFound, match="there is no branch 'nope'"):
        files(repository, "conv-001/nope")


def test_every_branch_counts_and_each_message_once(repository):
    history(repository, "main: a", "fix:", "same:")
    touch(repository, "main.py", where="conv-001/main")
    touch(repository, "fix.py", where="conv-001/fix")
    assert {path: len(row.messages) for path, row in rows(repository).items()} == {"main.py": 1, "fix.py": 1}


def test_a_message_that_uses_a_file_twice_is_listed_once(repository):
    new(repository)
    both = [{"path": "a.py", "op": "read"}, {"path": "a.py", "op": "edit"}]
    appended = say(repository, "conv-001", "x", files=both)
    assert rows(repository)["a.py"].messages == (appended.id,)
    assert rows(repository)["a.py"].operations == {"read": 1, "edit": 1}


def test_a_rename_counts_for_both_names(repository):
    new(repository)
    touch(repository, "new.py", "rename", **{"from": "old.py"})
    assert {path: row.operations for path, row in rows(repository).items()} == {
        "new.py": {"rename": 1},
        "old.py": {"delete": 1},
    }


def test_file_reference_parts_are_counted(repository):
    new(repository)
    parts = [{"type": "file_ref", "path": "doc.md", "op": "read"}, {"type": "file_ref", "path": "x.md"}]
    say(repository, "conv-001", "x", parts=parts)
    assert {path: row.operations for path, row in rows(repository).items()} == {
        "doc.md": {"read": 1},
        "x.md": {"mention": 1},
    }


def test_a_part_without_a_text_path_is_ignored():
    parts = (Part("file_ref", {"path": 7}), Part("file_ref", {}), Part("text", {"path": "a", "text": "x"}))
    message = Message(id="m", author=Author("carol"), parts=parts, files=(FileTouch("b", "edit"),))
    assert file_operations(message) == [("b", "edit")]


@pytest.mark.parametrize(
    "path", ["a b.py", "../up.py", "/abs/x", "C:\\x", "日本.md", "\x1b[31m", ".git/config", "a\nb"]
)
def test_a_path_is_shown_as_it_was_named(repository, path):
    """Foreign text: the path is never opened."""
    new(repository)
    touch(repository, path)
    assert list(rows(repository)) == [path]


def test_rewound_messages_are_not_counted(repository):
    new(repository)
    touch(repository, "a.py")
    touch(repository, "b.py")
    rewind(repository, "conv-001")
    assert list(rows(repository)) == ["a.py"]


def test_an_empty_conversation_has_no_files_and_an_unknown_one_is_refused(repository):
    history(repository, "main: a")
    assert files(repository, "conv-001").files == ()
    with pytest.raises(NotFound):
        files(repository, "nope")


def test_a_file_used_by_a_tool_is_attributed_to_the_calling_agent(repository):
    new(repository)
    append(repository, "conv-001", plain_message("codex", "I look"))
    answer = plain_message(Author("tool", "tool"), "done")
    for path in ("a.py", "b.py"):
        append(repository, "conv-001", replace(answer, id=new_id(), files=(FileTouch(path, "edit"),)))
    assert {row.last_author for row in files(repository, "conv-001").files} == {"codex"}


def test_a_pipe_has_a_row_for_each_file_and_json_its_messages():
    """S1-20: file to messages."""
    files = SAMPLES["files"]["files"]
    assert piped(files) == "src/login.py\tedit:2,read:1\t2\t2025-12-31T22:31:00Z\tplanner\n"
    assert document(files)["files"][0]["messages"] == [*files.files[0].messages]


def test_people_see_paths_in_the_project_whole_and_which_branches_are_covered():
    """D7, D11: files covered all branches without a word, and the names of the files were cut off."""
    files = SAMPLES["files"]["files"]
    path = f"/home/carol/shop/{'deep/' * 20}tests/test_login.py"
    found = replace(files, files=(replace(files.files[0], path=path),), cwd="/home/carol/shop", branches=("a", "b"))
    lines = seen_lines(found, 80)
    shown = "".join(line.split()[0] for line in lines[1:-1])
    assert shown == path.removeprefix("/home/carol/shop/")
    assert lines[-1] == "on all 2 branches of conv-001"
