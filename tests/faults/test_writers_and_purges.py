"""Whatever a command writes while another process purges is there afterwards, and what was purged is not.

A purge deletes every object that nothing reaches. It runs in each gap in which a command does not hold the lock.
"""

from __future__ import annotations

import shutil

import pytest

from scopes.conversation.verify import verify
from tests.cli.running import PRODUCT, scopes
from tests.faults.verbs import FULL, NO_STORE, VERBS
from tests.support.every_byte import find_word
from tests.support.store import open_store

PURGED = "message 2 of conv-001"
CHANGED_MEANWHILE = {1, 4, 6}  # refused, not found, busy
# Before the lock is taken for the N-th time, another open store acts. Objects that are written without it are noted.
PROGRAM = """
import os, sys
from scopes.cli.main import main
from scopes.conversation.store import gc
from scopes.loading import load
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.locks import StoreLock
from scopes.purge.purge import drop_unreachable
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from tests.support.store import open_store

act, turn, noted = os.environ["ACT"], int(os.environ["TURN"]), os.environ["NOTED"]
hold, write, times = StoreLock._hold, Repository.write, [0]

def tell(text):
    with open(noted, "a") as file:
        file.write(text + "\\n")

def hold_later(lock, mode):
    times[0] += 1
    if times[0] == turn:
        other = open_store(os.environ["SCOPES_STORE"])
        if act == "purge":
            purge(other, PurgeRequest(conversation="conv-001", messages=("main~4",)), Places(noted + ".index"))
        elif act == "gc":
            gc(other)
        else:
            with exclusive_write(other):
                drop_unreachable(other)
        tell(act)
    return hold(lock, mode)

def write_under_lock(store, kind, data):
    if store.lock.descriptor is None:
        tell("written without the lock: " + kind)
    return write(store, kind, data)

StoreLock._hold, Repository.write = hold_later, write_under_lock
sys.exit(main(sys.argv[2:], load(sys.argv[1])))
"""


def run_meanwhile(tmp_path, template, verb, act, turn):
    """Run a command on a copy of a store, and act before it takes the lock the N-th time; return what became of it."""
    store, noted = str(tmp_path / f"{act}{turn}"), tmp_path / f"noted-{act}{turn}"
    shutil.copytree(template, store)
    noted.write_text("")
    env = {"ACT": act, "TURN": str(turn), "NOTED": str(noted), "SCOPES_STORE": store}
    done = scopes(*verb.arguments, table=PRODUCT, program=PROGRAM, env=env, stdin=None, input=verb.stdin)
    return store, done, noted.read_text().split("\n")[:-1]


@pytest.mark.cases(6)
@pytest.mark.parametrize("act", ["prune", "gc"])
@pytest.mark.parametrize("verb", [each for each in VERBS if each.template != NO_STORE], ids=lambda verb: verb.name)
def test_a_command_succeeds_when_objects_are_deleted_in_any_gap_between_its_locks(templates, verb, act, tmp_path):
    for turn in range(1, 9):
        store, done, noted = run_meanwhile(tmp_path, templates[verb.template], verb, act, turn)
        assert (done.returncode, [line for line in noted if line != act]) == (verb.code, []), done.stderr
        assert verify(open_store(store)).exit_code == 0
        if not noted:
            return
    raise AssertionError("the command takes the lock too often")


@pytest.mark.cases(4)
@pytest.mark.parametrize("verb", [each for each in VERBS if each.template == FULL], ids=lambda verb: verb.name)
def test_a_command_that_began_before_a_purge_brings_nothing_back(templates, verb, tmp_path):
    store, done, noted = run_meanwhile(tmp_path, templates[FULL], verb, "purge", 1)
    assert done.returncode in {0, *CHANGED_MEANWHILE}, done.stderr
    assert noted == ([] if verb.name == "config-set" else ["purge"])  # which takes no lock, and has no objects
    assert verify(open_store(store)).exit_code == 0
    assert verb.name == "config-set" or find_word(PURGED, store) == []
