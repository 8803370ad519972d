"""What git recorded about HEAD during a turn is read from one file, whatever is in it."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links import reflog
from scopes.code_links.reflog import begin_turn, describe_turn, read_head, read_tail
from scopes.store.projects import Worktree, find_reflog_end, find_worktree
from tests.support.worktrees import Project

ZERO = "0" * 40
A, B = "a" * 40, "b" * 40


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def begin(project):
    return begin_turn(project.directory, int(time.time()))


def write_log(project, data, mode="wb"):
    path = os.path.join(project.directory, ".git", "logs", "HEAD")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as file:
        file.write(data)
    return path


def line(old, new, at, action="commit: x"):
    return f"{old} {new} alice <a@example.org> {at} +0100\t{action}\n".encode()


def test_a_turn_has_the_commits_that_were_made_in_it(project):
    first = project.commit("one")
    turn = begin(project)
    second, third = project.commit("two"), project.commit("three", "--no-verify")
    document = turn.end()
    assert [(m["old"], m["new"], m["action"]) for m in document["moves"]] == [
        (first, second, "commit: two"),
        (second, third, "commit: three"),
    ]
    assert (document["before"], document["after"]) == (first, third)
    assert (document["root"], document["branch"]) == (project.directory, "main")
    assert document["moves"][0]["at"].endswith("Z")


def test_the_first_commit_of_a_repository_comes_from_zeros(project):
    turn = begin(project)
    first = project.commit("one")
    document = turn.end()
    assert (document["before"], document["after"]) == (ZERO, first)
    assert document["moves"][0]["action"] == "commit (initial): one"


def test_a_turn_without_a_commit_tells_where_head_was(project):
    first = project.commit("one")
    document = begin(project).end()
    assert (document["before"], document["after"], document["moves"]) == (first, first, [])


def test_amending_resetting_and_switching_are_moves_too(project):
    project.commit("one")
    turn = begin(project)
    project.commit("two")
    project.git("commit", "-q", "--amend", "-m", "two again")
    project.git("switch", "-q", "-c", "fix")
    project.git("reset", "-q", "--hard", "HEAD~1")
    actions = [move["action"].partition(":")[0] for move in turn.end()["moves"]]
    assert actions == ["commit", "commit (amend)", "checkout", "reset"]
    assert turn.end()["branch"] == "fix"


def test_a_detached_head_has_no_branch(project):
    project.commit("one")
    project.git("switch", "-q", "--detach")
    assert "branch" not in begin(project).end()


def test_a_worktree_has_a_log_of_its_own(project, tmp_path):
    project.commit("one")
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = Project(tmp_path / "linked", create=False)
    here, there = begin(project), begin(linked)
    made = linked.commit("two")
    assert here.end()["moves"] == []
    assert [(move["new"]) for move in there.end()["moves"]] == [made]
    assert (there.end()["root"], there.end()["branch"]) == (linked.directory, "linked")


def test_a_subdirectory_belongs_to_the_worktree_around_it(project):
    project.write("src/app.py", "x\n")
    turn = begin_turn(os.path.join(project.directory, "src"), 0)
    made = project.commit("one")
    assert turn.end()["after"] == made


def test_outside_git_there_is_nothing(tmp_path):
    assert begin_turn(str(tmp_path), 0) is None
    assert describe_turn(str(tmp_path), 0) is None
    assert describe_turn(str(tmp_path / "gone"), 0) is None
    assert describe_turn("relative", 0) is None
    assert describe_turn("/a\0b", 0) is None


def test_an_empty_repository_has_no_head_yet(project):
    assert begin(project).end() is None
    assert describe_turn(project.directory, 0) is None


def test_without_a_reflog_the_branch_file_tells_where_head_is(project):
    project.git("config", "core.logAllRefUpdates", "false")
    first = project.commit("one")
    turn = begin(project)
    second = project.commit("two")
    document = turn.end()
    assert (document["before"], document["after"], document["moves"]) == (first, second, [])


def test_a_log_that_git_rewrote_meanwhile_is_read_by_time(project):
    project.commit("one", GIT_COMMITTER_DATE="2001-01-01T00:00:00Z")
    turn = begin(project)
    second = project.commit("two")
    project.git("reflog", "expire", "--expire=2002-01-01", "HEAD")
    assert [move["new"] for move in turn.end()["moves"]] == [second]


def test_two_moments_choose_the_moves_between_them(project):
    write_log(project, line(ZERO, A, 100) + line(A, B, 200) + line(B, A, 300))
    document = describe_turn(project.directory, 150, 250)
    assert [(m["old"], m["new"]) for m in document["moves"]] == [(A, B)]
    assert (document["before"], document["after"]) == (A, B)


def test_between_two_moments_without_a_move_head_is_where_the_next_move_began(project):
    write_log(project, line(ZERO, A, 100) + line(A, B, 300))
    document = describe_turn(project.directory, 150, 250)
    assert (document["before"], document["after"], document["moves"]) == (A, A, [])


def test_what_was_added_behind_a_noted_end_is_not_read(project):
    write_log(project, line(ZERO, A, 100) + line(A, B, 200))
    stop = find_reflog_end(project.directory)
    write_log(project, line(B, A, 200), "ab")
    document = describe_turn(project.directory, 150, 250, stop)
    assert [(move["old"], move["new"]) for move in document["moves"]] == [(A, B)]
    document = describe_turn(project.directory, 201, 250, stop)
    assert (document["after"], document["moves"]) == (B, [])


def test_an_end_that_was_noted_before_there_was_a_log_leaves_out_the_first_commit(project):
    stop = find_reflog_end(project.directory)
    project.commit("one")
    assert describe_turn(project.directory, 0, None, stop)["moves"] == []


def test_the_noted_end_of_another_worktree_or_of_a_replaced_file_is_none(project, tmp_path):
    project.commit("one")
    project.git("worktree", "add", "-q", str(tmp_path / "other"))
    stop = find_reflog_end(str(tmp_path / "other"))
    second = project.commit("two")
    assert describe_turn(project.directory, 0, None, stop)["after"] == second
    stop = find_reflog_end(project.directory)
    project.git("reflog", "expire", "--expire=2002-01-01", "HEAD")
    third = project.commit("three")
    assert describe_turn(project.directory, 0, None, stop)["after"] == third
    assert find_reflog_end(str(tmp_path)) is None


def test_a_second_counts_whole(project):
    write_log(project, line(ZERO, A, 100) + line(A, B, 101))
    assert len(describe_turn(project.directory, 100, 101)["moves"]) == 2


def test_of_a_huge_log_the_end_is_read(project):
    lines = b"".join(line(A, B, number) for number in range(1, 9000))
    write_log(project, lines)
    document = describe_turn(project.directory, 0)
    assert len(document["moves"]) == reflog.MAX_MOVES
    assert document["is_cut"] is True
    assert document["moves"][-1]["at"] == "1970-01-01T02:29:59Z"
    tail = read_tail(find_worktree(project.directory))
    assert sum(len(line(A, B, move.at)) for move in tail.moves) <= reflog.TAIL_BYTES


def test_a_sparse_file_of_a_terabyte_costs_no_memory(project):
    path = write_log(project, b"")
    os.truncate(path, 1 << 40)
    write_log(project, b"\n" + line(A, B, 100), "ab")
    assert [move.new for move in read_tail(find_worktree(project.directory)).moves] == [B]


def test_lines_that_are_not_of_git_are_left_out(project):
    bad = b"\xff\xfe\0\n" + line(A, "b" * 39, 1) + line(A, "B" * 40, 1) + b"x" * 9000 + b"\n" + line(A, B, 10**13)
    write_log(project, bad + line(A, B, 100) + line(B, A, 200)[:-1])
    assert [(move.new, move.at) for move in read_tail(find_worktree(project.directory)).moves] == [(B, 100)]


def test_an_action_is_text_of_limited_length(project):
    write_log(
        project,
        line(A, B, 100, "commit: " + "y" * 5000) + b"%b %b x <> 5 +0000\t\xff\x1b[2J\n" % (b"a" * 40, b"b" * 40),
    )
    long, odd = read_tail(find_worktree(project.directory)).moves
    assert len(long.action) == 200
    assert odd.action == "\ufffd\x1b[2J"


def test_a_line_without_an_action_is_a_move(project):
    write_log(project, f"{A} {B} x <y> 100 +0000\n".encode())
    assert read_tail(find_worktree(project.directory)).moves == ((A, B, "", 100),)


@pytest.mark.parametrize("make", ["link", "pipe", "directory"])
def test_what_is_no_regular_file_is_no_log(project, tmp_path, make):
    project.commit("one")
    path = os.path.join(project.directory, ".git", "logs", "HEAD")
    os.rename(path, tmp_path / "HEAD")
    {
        "link": lambda: os.symlink(tmp_path / "HEAD", path),
        "pipe": lambda: os.mkfifo(path),
        "directory": lambda: os.mkdir(path),
    }[make]()
    assert read_tail(find_worktree(project.directory)) is None
    assert describe_turn(project.directory, 0)["moves"] == []


@pytest.mark.parametrize(
    "text",
    [
        "ref: refs/heads/../../../secret\n",
        "ref: /etc/passwd\n",
        "ref: \n",
        "",
        "\0\n",
        "x" * 5000,
        "ref: refs/heads/a\0b\n",
    ],
)
def test_a_head_file_that_is_not_of_git_names_nothing_outside(project, text):
    project.write("secret", f"{A}\n")
    project.write(".git/HEAD", text)
    worktree = find_worktree(project.directory)
    assert read_head(worktree)[1] is None


@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_content_of_a_log_is_an_error(tmp_path_factory, data, start):
    directory = tmp_path_factory.getbasetemp() / "any"
    (directory / "logs").mkdir(parents=True, exist_ok=True)
    (directory / "logs" / "HEAD").write_bytes(data)
    tail = read_tail(Worktree(str(directory), str(directory), str(directory)), start)
    assert tail.size == len(data)


def test_a_directory_whose_name_is_not_utf8_has_a_root_that_can_be_stored(tmp_path):
    project = Project(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    project.commit("one")
    assert begin(project).end()["root"].endswith("/\ufffd")
