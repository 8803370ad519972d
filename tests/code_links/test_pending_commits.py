"""What hooks leave in the git directory is read as foreign data: only complete files of the right form count."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links.pending_commits import MAX_FILES, PendingCommit, list_pending, pending_directory, remove_pending
from scopes.store.projects import Worktree, find_worktree
from tests.support.worktrees import Project

A, B, C = "a" * 40, "b" * 64, "c" * 40
HOUR = 3600 * 10**9


@pytest.fixture
def worktree(tmp_path):
    found = find_worktree(Project(tmp_path / "project").directory)
    os.makedirs(pending_directory(found))
    return found


def leave(worktree, name, text, at=10**9):
    path = os.path.join(pending_directory(worktree), name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.utime(path, ns=(at, at))
    return path


def test_a_commit_is_read_with_its_sessions_and_its_time(worktree):
    leave(worktree, "1", f"scopes 1\ncommit {A}\nCODEX_THREAD_ID=t\nCODEX_TOOL_CALL_ID=c\nend\n", at=5 * 10**9 + 7)
    (found,) = list_pending(worktree)
    assert (found.commit, found.at, found.is_complete) == (A, 5 * 10**9 + 7, True)
    assert found.sessions == (("codex", "t", "c"),)


def test_a_rewrite_is_read_with_its_pairs(worktree):
    leave(worktree, "1", f"scopes 1\nrewrite rebase\n{A} {C}\n{A} {B} extra\n{A} {A}\nnonsense\n{A}\nend\n")
    (found,) = list_pending(worktree)
    assert (found.commit, found.rewritten) == (None, ((A, C), (A, B)))


def test_commits_come_before_rewrites_and_older_ones_first(worktree):
    leave(worktree, "a", f"scopes 1\nrewrite amend\n{A} {C}\nend\n", at=2)
    leave(worktree, "b", f"scopes 1\ncommit {C}\nend\n", at=2)
    leave(worktree, "c", f"scopes 1\ncommit {A}\nend\n", at=1)
    assert [each.name for each in list_pending(worktree)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    "text",
    ["", "scopes 1\n", f"scopes 1\ncommit {A}\n", f"scopes 1\ncommit {A}\nend", f"scopes 2\ncommit {A}\nend\n", b"\xff\0",
     f"commit {A}\nend\n", "end\n", "scopes 1\nend\n"],
)  # fmt: skip
def test_a_file_without_its_last_line_or_of_another_form_is_incomplete(worktree, text):
    leave(worktree, "1", text)
    assert [each.is_complete for each in list_pending(worktree)] == [False]


def test_a_complete_file_with_an_unknown_event_says_nothing_and_goes(worktree):
    path = leave(worktree, "1", "scopes 1\nlater event\nsomething\nend\n")
    found = list_pending(worktree)
    assert (found[0].commit, found[0].rewritten, found[0].sessions) == (None, (), ())
    remove_pending(worktree, found, HOUR)
    assert not os.path.exists(path)


def test_variables_of_other_programs_are_not_read(worktree):
    leave(worktree, "1", f"scopes 1\ncommit {A}\nLD_PRELOAD=x\nCLAUDECODE=1\nCLAUDECODE\nend\n")
    assert list_pending(worktree)[0].sessions == (("claude-code", None, None),)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path)])
def test_what_is_no_file_is_left_alone(worktree, make):
    path = os.path.join(pending_directory(worktree), "1")
    make(path)
    assert list_pending(worktree) == []
    remove_pending(worktree, list_pending(worktree), HOUR * 24)
    assert os.path.lexists(path)


@pytest.mark.parametrize("linked", ["scopes-hooks", "scopes-hooks/pending"])
def test_files_behind_a_link_of_the_git_directory_are_neither_read_nor_deleted(tmp_path, linked):
    worktree = find_worktree(Project(tmp_path / "project").directory)
    own = tmp_path / "own"
    folder = own if linked.endswith("pending") else own / "pending"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years of work")
    (folder / "1").write_text(f"scopes 1\ncommit {A}\nend\n")
    os.makedirs(os.path.dirname(os.path.join(worktree.shared, linked)), exist_ok=True)
    os.symlink(own, os.path.join(worktree.shared, linked))
    assert list_pending(worktree) == []
    left = [PendingCommit("thesis.txt", 0, is_complete=False), PendingCommit("1", 0)]
    remove_pending(worktree, left, HOUR * 24)
    assert sorted(os.listdir(folder)) == ["1", "thesis.txt"]


def test_an_incomplete_file_goes_after_an_hour(worktree):
    path = leave(worktree, "1", "scopes 1\n", at=0)
    remove_pending(worktree, list_pending(worktree), HOUR - 1)
    assert os.path.exists(path)
    remove_pending(worktree, list_pending(worktree), HOUR + 1)
    assert not os.path.exists(path)


def test_a_file_that_is_gone_meanwhile_is_no_error(worktree):
    path = leave(worktree, "1", f"scopes 1\ncommit {A}\nend\n")
    found = list_pending(worktree)
    os.unlink(path)
    remove_pending(worktree, found, 0)
    assert list_pending(worktree) == []


def test_a_huge_file_and_very_many_files_cost_little(worktree):
    leave(worktree, "0", b"scopes 1\nrewrite rebase\n" + b"x" * (5 << 20) + b"\nend\n")
    for number in range(MAX_FILES + 10):
        leave(worktree, f"n{number:05}", "")
    found = list_pending(worktree)
    assert (len(found), {each.is_complete for each in found}) == (MAX_FILES, {False})


def test_without_hooks_there_is_nothing(tmp_path):
    assert list_pending(Worktree(str(tmp_path), str(tmp_path), str(tmp_path))) == []


@given(
    st.lists(
        st.sampled_from(["scopes 1", f"commit {A}", "rewrite x", f"{A} {C}", "end", "CODEX_THREAD_ID=é", "\0", ""]),
        max_size=8,
    )
)
def test_no_content_is_an_error(tmp_path_factory, lines):
    directory = str(tmp_path_factory.getbasetemp() / "left")
    worktree = Worktree(directory, directory, directory)
    os.makedirs(pending_directory(worktree), exist_ok=True)
    leave(worktree, "1", "\n".join(lines))
    assert len(list_pending(worktree)) == 1
