"""A check of `doctor` that takes long runs beside the others, and ends in time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scopes.conversation.verify import Check
from scopes.server.background_check import BackgroundCheck
from scopes.server.doctor_checks import begin_mcp, check_agents

LATE = Check("slow", "warning", "not looked at")


def begin(check, seconds=60.0):
    return BackgroundCheck(check, lambda: LATE, seconds)


def test_a_check_is_done_in_a_copy_of_the_process():
    own = os.getpid()
    found = begin(lambda: Check("pid", "ok", str(os.getpid()), "none")).take()
    assert (found.name, found.state, found.cure) == ("pid", "ok", "none")
    assert int(found.detail) != own


def test_it_runs_while_others_wait(tmp_path):
    def leave_a_file():
        (tmp_path / "begun").touch()
        return Check("file", "ok", "written")

    background = begin(leave_a_file)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    assert background.take().detail == "written"


def test_a_check_that_takes_too_long_is_reported_and_ended(tmp_path):
    def hang():
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(60)
        return Check("slow", "ok", "never")

    background = begin(hang, seconds=0.0)
    pid = background._copy[0]
    assert background.take() == LATE
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_of_a_check_is_raised_where_the_answer_is_taken():
    def fail():
        raise LookupError("a mistake in the check")

    background = begin(fail)
    with pytest.raises(LookupError, match="a mistake in the check"):
        background.take()


def test_a_copy_that_was_killed_leaves_the_check_to_this_process():
    own = os.getpid()

    def die():
        if os.getpid() != own:
            os.kill(os.getpid(), 9)
        return Check("here", "ok", "done")

    assert begin(die).take().detail == "done"


def test_without_another_process_the_check_is_done_here(monkeypatch):
    def refuse():
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert begin(lambda: Check("pid", "ok", str(os.getpid()))).take().detail == str(os.getpid())
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_check_prints_nothing(capfd):
    def make_noise():
        os.write(1, b"noise of a library")
        return Check("quiet", "ok", "done")

    assert begin(make_noise).take().state == "ok"
    assert capfd.readouterr().out == ""


def test_no_descriptor_and_no_process_is_left():
    before = descriptors_and_children()
    begin(lambda: Check("a", "ok", "b")).take()
    assert descriptors_and_children() == before


def descriptors_and_children() -> tuple[int, str]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return len(os.listdir("/proc/self/fd")), children


def test_doctor_reports_that_it_has_not_looked_at_mcp_if_that_takes_too_long(tmp_path):
    """S0-23: the package takes half a second to import, on a busy machine many."""
    found = {each.name: each for each in check_agents(str(tmp_path), {}, str(tmp_path), begin_mcp(0.0).take)}
    assert "not looked at: to import it takes longer than 0 s" in found["mcp"].detail
    assert (found["mcp"].state, found["mcp"].cure) == ("warning", "see if it answers: scopes mcp </dev/null")


def test_doctor_looks_at_mcp_meanwhile(tmp_path):
    pytest.importorskip("mcp")
    found = {each.name: each for each in check_agents(str(tmp_path), {}, str(tmp_path), begin_mcp(60.0).take)}
    assert found["mcp"].detail.startswith("version 20")
