"""The first import of a watch: in a process of its own, before the thread begins, and again if the store is busy."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from scopes.cli import watch_runner
from scopes.cli.invocation import Invocation
from scopes.errors import Busy, Corrupt, Inaccessible
from scopes.importers.results import REPEAT_WITH, Imported
from scopes.live.watch import of_import
from scopes.result import Note
from tests.support.hook_agent import HookAgent, texts_of


@pytest.fixture
def agent(sealed_world, tmp_path):
    found = HookAgent(sealed_world, tmp_path)
    found.turn(1)
    return found


@pytest.fixture
def watch(agent, capsys):
    """Begin to watch in this process; return the rows."""
    before = [(number, signal.getsignal(number)) for number in watch_runner._SIGNALS]
    started = []

    def start():
        invocation = Invocation(["--json", "import", "--watch"], os.environ)
        run = watch_runner.WatchRun(invocation, [])
        started.append(run.run())
        return started[-1]

    yield start
    for rows in started:
        rows.close()
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture
def first_import(monkeypatch):
    """Do something around the first import, which then runs in this process."""

    def use(around):
        monkeypatch.setattr(watch_runner, "run_apart", around)

    return use


def fail_first(*errors):
    """Return a first import that fails with these errors before it succeeds."""
    left = list(errors)

    def around(work):
        if left:
            raise left.pop(0)
        return work()

    return around


def test_the_first_import_is_in_another_process_whose_memory_is_freed(watch, tmp_path, monkeypatch):
    original = watch_runner.import_all

    def record(*arguments, **options):
        (tmp_path / "process").write_text(str(os.getpid()))
        return original(*arguments, **options)

    monkeypatch.setattr(watch_runner, "import_all", record)
    assert next(watch()).messages == 2
    assert (tmp_path / "process").read_text() != str(os.getpid())


def test_what_later_sessions_are_compared_with_is_read_in_that_process_too(watch, agent):
    rows = watch()
    next(rows)
    index = Invocation(["import", "--watch"], os.environ).index_directory
    assert os.path.exists(os.path.join(index, "sessions.sqlite"))


def test_no_other_thread_runs_while_the_first_import_forks(watch, first_import):
    """A lock that another thread holds at that moment, such as that of a module, would stay locked in the child."""
    names = []
    first_import(lambda work: names.extend(each.name for each in threading.enumerate()) or work())
    assert next(watch()).messages == 2
    assert "changes" not in names


def test_what_changes_during_the_first_import_is_imported_after_it(agent, watch, first_import):
    def grow_after(work):
        done = work()
        agent.turn(2)
        return done

    first_import(grow_after)
    rows = watch()
    file = str(agent.session)
    assert [(row.messages, row.source) for row in (next(rows), next(rows))] == [(2, file), (2, file)]
    assert agent.texts() == texts_of(1, 2)


def test_a_store_that_is_gone_is_waited_for_and_not_made_anew(
    agent, watch, first_import, monkeypatch, tmp_path, capsys
):
    """Its disk may not be mounted yet."""
    first = watch()
    next(first)
    first.close()
    agent.turn(2)
    monkeypatch.setattr(watch_runner, "RETRY_SECONDS", 0.01)
    away = tmp_path / "away.git"
    os.rename(agent.store, away)
    tries = []

    def mount_later(work):
        assert not os.path.exists(agent.store)
        tries.append(1)
        if len(tries) == 3:
            os.rename(away, agent.store)
        return work()

    first_import(mount_later)
    assert next(watch()).messages == 2
    assert f"the store {agent.store} is gone; it is tried again" in capsys.readouterr().err
    assert agent.texts() == texts_of(1, 2)


def test_a_store_that_is_busy_at_the_start_is_tried_again(agent, watch, first_import, monkeypatch, capsys):
    """Not only what changes later is imported then."""
    monkeypatch.setattr(watch_runner, "RETRY_SECONDS", 0.01)
    first_import(fail_first(Busy("the store is busy"), Inaccessible("the disk is full")))
    assert next(watch()).messages == 2
    problems = capsys.readouterr().err
    assert problems.index("the store is busy; it is tried again in 0 seconds") < problems.index("the disk is full")
    assert agent.texts() == texts_of(1)


def test_the_pauses_become_longer_up_to_ten_minutes(watch, first_import, monkeypatch):
    pauses = []

    class Queue:
        put = staticmethod(lambda _: None)

        def get(self, *, timeout):
            pauses.append(timeout)
            raise watch_runner.Empty

    monkeypatch.setattr(watch_runner, "SimpleQueue", Queue)
    first_import(fail_first(*(Busy("busy") for _ in range(8))))
    assert next(watch()).messages == 2
    assert pauses == [10, 20, 40, 80, 160, 320, 600, 600]


def test_a_signal_ends_a_watch_that_waits_for_its_store(watch, first_import, capsys):
    first_import(lambda _: os.kill(os.getpid(), signal.SIGTERM) or (_ for _ in ()).throw(Busy("busy")))
    assert list(watch()) == []
    assert "watching" not in capsys.readouterr().err, "it is over"


def test_a_signal_during_the_first_import_ends_a_watch_that_says_nothing_more(watch, first_import, capsys):
    """It said that it watches, and ended."""
    first_import(lambda work: os.kill(os.getpid(), signal.SIGTERM) or work())
    assert [row.messages for row in watch()] == [2]
    assert "finishing this import; repeat the signal to stop at once" in (shown := capsys.readouterr().err)
    assert "watching" not in shown


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (f"to list them, {REPEAT_WITH} --report or -v", "to list them, run scopes import with --report or -v"),
        (f"scopes undo, then {REPEAT_WITH} --no-join", "scopes undo, then run scopes import with --no-join"),
        ("free some space", "free some space"),
        (None, None),
    ],
)
def test_a_hint_of_an_import_names_the_command_that_has_its_option(hint, shown):
    """`watch` has no --report, no --no-join and no --again."""
    assert of_import(Note("2 sessions", hint)) == Note("2 sessions", shown)


def test_the_notes_of_the_first_import_are_shown_that_way(watch, first_import, capsys):
    notes = (Note("2 sessions continue others", f"to list them, {REPEAT_WITH} --report"),)
    first_import(lambda _: Imported(sources=(), conversations=(), notes=notes))
    rows = watch()
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()
    assert list(rows) == []
    assert "to list them, run scopes import with --report" in " ".join(capsys.readouterr().err.split())


def test_after_another_error_what_changes_is_imported_all_the_same(agent, watch, first_import, capsys):
    first_import(fail_first(Corrupt("a ref is damaged", hint="see: scopes verify")))
    rows = watch()
    agent_writes = threading.Timer(0.3, agent.turn, [2])
    agent_writes.start()
    assert next(rows).messages == 4
    assert "a ref is damaged" in capsys.readouterr().err
