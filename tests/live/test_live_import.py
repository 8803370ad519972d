"""A source is imported when it is quiet, and again if it has grown meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.errors import Busy, Inaccessible
from scopes.live.live_import import Recorded, import_when_quiet, sign_files


class Agent:
    """Writes a line of a transcript at each of the times that are given as numbers of pauses."""

    def __init__(self, path, writes):
        self.path, self.writes, self.pauses, self.imported = path, writes, 0, []

    def sleep(self, _):
        self.pauses += 1
        if self.pauses in self.writes:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("line\n")

    def import_now(self, paths):
        with open(self.path, encoding="utf-8") as file:
            lines = len(file.readlines())
        new = lines - sum(self.imported)
        self.imported.append(new)
        return SimpleNamespace(conversations=[SimpleNamespace(id="conv-001", new_messages=new)])


@pytest.fixture
def run(tmp_path):
    def run(*writes):
        agent = Agent(str(tmp_path / "session.jsonl"), writes)
        (tmp_path / "session.jsonl").write_text("line\n")
        return agent, import_when_quiet([agent.path], agent.import_now, agent.sleep)

    return run


def test_a_quiet_file_is_imported_once(run):
    agent, recorded = run()
    assert agent.imported == [1]
    assert recorded == Recorded(("conv-001",), 1)


def test_lines_that_come_soon_are_in_the_first_import(run):
    agent, _ = run(1, 2, 3)
    assert agent.imported == [4]


def test_lines_that_come_after_the_import_are_in_a_second_one(run):
    """Agents start their hooks before the last lines of the turn are written."""
    agent, recorded = run(2)
    assert agent.imported == [1, 1]
    assert recorded == Recorded(("conv-001",), 2)


def test_an_agent_that_never_stops_writing_is_imported_all_the_same(run):
    agent, recorded = run(*range(1, 10_000))
    assert recorded.messages == sum(agent.imported) > 20
    assert len(agent.imported) == 20


@pytest.mark.parametrize(("times", "is_imported"), [(1, True), (20, True), (21, False)])
def test_a_store_that_another_process_keeps_busy_is_tried_again(tmp_path, times, is_imported):
    """A turn that ends while the store is packed is recorded when that is done, not at the next turn."""
    path = tmp_path / "session.jsonl"
    path.write_text("line\n")
    agent = Agent(str(path), ())
    busy = [Busy("the store is busy") for _ in range(times)]

    def import_now(paths):
        if busy:
            raise busy.pop()
        return agent.import_now(paths)

    if is_imported:
        assert import_when_quiet([str(path)], import_now, agent.sleep) == Recorded(("conv-001",), 1)
    else:
        with pytest.raises(Busy):
            import_when_quiet([str(path)], import_now, agent.sleep)
    assert (busy, agent.imported) == ([], [1] if is_imported else [])


def test_any_other_error_is_not_tried_again(tmp_path):
    calls = []

    def import_now(paths):
        calls.append(paths)
        raise Inaccessible("the disk is full")

    with pytest.raises(Inaccessible):
        import_when_quiet([str(tmp_path / "session.jsonl")], import_now, lambda _: None)
    assert len(calls) == 1


def test_a_file_that_is_deleted_meanwhile_counts_as_a_change(tmp_path):
    path = tmp_path / "session.jsonl"
    path.touch()
    before = sign_files([str(path)])
    path.unlink()
    assert sign_files([str(path)]) != before
    assert sign_files([str(path)]) == ((0, 0),)
