"""How far the processes of one command could use more processors than this machine has.

A program looks at all processes of the command every few milliseconds: which of them run or wait for a processor, and
how much processor time they have had. Time in which one process alone is ready is serial, whatever the number of
processors. Time in which three are ready would be a third of it on three or more processors. In this way the work that
only the parent does counts, the wait for the last source, and what several workers do beyond what one process does. What
is not counted is that processors may slow each other down, for they share memory and heat: that belongs to the machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tests.benchmarks.timing import run

_WATCHED = """
import json, os, sys, time
def processes(pid):
    yield pid
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            for child in file.read().split():
                yield from processes(int(child))
def look(pid):
    with open(f"/proc/{pid}/stat") as file:
        state = file.read().rpartition(")")[2].split()[0]
    with open(f"/proc/{pid}/schedstat") as file:
        return state == "R", int(file.read().split()[0]) / 1e9
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
used, shares, idle = {}, {}, 0.0
before = time.perf_counter()
while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
    ready, seconds = 0, 0.0
    try:
        for each in processes(process):
            is_ready, total = look(each)
            ready += is_ready
            seconds += total - used.get(each, 0.0)
            used[each] = total
    except OSError:  # one of them has just ended
        pass
    now = time.perf_counter()
    idle += now - before if not ready and not seconds else 0.0
    before = now
    shares[max(ready, 1)] = shares.get(max(ready, 1), 0.0) + seconds
    time.sleep(0.004)
_, status, usage = os.wait4(process, 0)
unseen = usage.ru_utime + usage.ru_stime - sum(shares.values())
shares[1] = shares.get(1, 0.0) + max(0.0, unseen)
json.dump({"shares": shares, "idle": idle, "busiest": max(used.values(), default=0.0)}, sys.stdout)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Spread:
    """Processor seconds of a command, by the number of its processes that were ready to run meanwhile.

    idle: seconds in which none was, such as waits for the disk
    busiest: processor seconds of the process that had the most of them
    """

    shares: Mapping[int, float]
    idle: float
    busiest: float

    @classmethod
    def measure(cls, command: Sequence[str], environment: Mapping[str, str]) -> Self:
        """Run a command; time that was not seen, such as that of processes between two looks, counts as serial."""
        found = json.loads(run([sys.executable, "-S", "-c", _WATCHED, *command], environment))
        return cls({int(ready): seconds for ready, seconds in found["shares"].items()}, found["idle"], found["busiest"])

    @property
    def serial(self) -> float:
        """Return the seconds that no further processor would shorten."""
        return self.idle + self.shares.get(1, 0.0)

    def seconds_on(self, processors: int) -> float:
        """Return how long the command would take at least on so many processors."""
        spread = sum(seconds / min(ready, processors) for ready, seconds in self.shares.items())
        return max(self.idle + spread, self.busiest)
