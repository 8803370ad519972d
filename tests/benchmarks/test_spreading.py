"""What more processors would gain is computed from which processes were ready to run, and is never better than that."""

from __future__ import annotations

import os
import sys

import pytest

from tests.benchmarks.spreading import Spread

_TWO_AND_ONE = """
import os, time
def work(seconds):
    while time.process_time() < seconds:
        pass
work(0.3)
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        work(0.4)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def test_one_process_gains_nothing():
    alone = Spread({1: 5.0}, idle=0.0, busiest=5.0)
    assert [alone.seconds_on(processors) for processors in (1, 2, 4)] == [5.0, 5.0, 5.0]


def test_as_many_processes_as_processors_gain_all():
    assert Spread({4: 8.0}, idle=0.0, busiest=2.0).seconds_on(4) == 2.0


def test_more_processes_than_processors_gain_no_more():
    assert Spread({8: 8.0}, idle=0.0, busiest=1.0).seconds_on(2) == 4.0


@pytest.mark.parametrize(("processors", "seconds"), [(1, 11.5), (2, 6.5), (3, 5.167), (4, 4.667)])
def test_the_parts_that_fewer_can_do_keep_their_time(processors, seconds):
    """Half a second waits for the disk, one is serial, four are of two or three processes and six of four."""
    spread = Spread({1: 1.0, 2: 2.0, 3: 2.0, 4: 6.0}, idle=0.5, busiest=3.0)
    assert spread.serial == 1.5
    assert spread.seconds_on(processors) == pytest.approx(seconds, abs=0.001)


def test_the_busiest_process_is_a_limit_for_any_number_of_processors():
    assert Spread({4: 8.0}, idle=0.0, busiest=3.0).seconds_on(16) == 3.0


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="only Linux tells who is ready to run")
@pytest.mark.slow
def test_the_processes_of_a_command_are_seen():
    """On a machine with other load they are ready all the same; nothing here depends on how long they wait."""
    found = Spread.measure([sys.executable, "-S", "-c", _TWO_AND_ONE], os.environ)
    assert found.shares.get(2, 0.0) > found.shares.get(3, 0.0)
    assert sum(found.shares.values()) >= 1.0
    assert found.seconds_on(2) <= found.seconds_on(1)
    assert found.serial > 0.2
