"""P5, P6, P7: many processes on one store lose nothing, write nothing twice, and never see half of anything."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.store.repository import create_store, open_repository
from tests.faults.processes import WRITER, assert_sound, finish, read_texts, scopes, start, start_scopes
from tests.support.examples import amount

MIXER = """
import sys
from scopes.conversation import branch; from scopes.conversation import new_rename_delete as delete; from scopes.conversation import store as gc; from scopes.conversation import new_rename_delete as rename; from scopes.conversation import branch as tag; from scopes.conversation import undo
from scopes.store.repository import open_repository
from scopes.store.repository import Caller
store, rounds = sys.argv[1], int(sys.argv[2])
repository = open_repository(store, caller=Caller("mixer"))  # undo takes back what the same actor did
for turn in range(rounds):
    branch.branch(repository, "conv-001", name=f"try-{turn}", switch=False, start="main")
    rename.rename_branch(repository, "conv-001", f"try-{turn}", f"tried/{turn}")
    rename.rename_title(repository, "conv-001", f"title {turn}")
    tag.tag(repository, "conv-001", f"tag-{turn}", "main")
    undo.undo(repository)
    if turn % 4 == 0:
        gc.gc(repository)
    delete.delete_branch(repository, "conv-001", f"tried/{turn}", force=True)
    undo.undo(repository)
"""
READER = """
import sys, time
from scopes.conversation.new_rename_delete import new
from scopes.store.repository import create_store
from scopes.store.repository import open_repository
from tests.faults.processes import read_texts
store, least, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
repository, walks, end = open_repository(store), 0, time.monotonic() + seconds
while time.monotonic() < end:
    texts = read_texts(repository, "conv-001/main")
    assert len(texts) >= least and texts[:least] == [f"old/{n}" for n in range(least)], len(texts)
    walks += 1
print(walks)
"""
PACKER = """
import subprocess, sys, time
from scopes.conversation.store import gc
from scopes.store.repository import open_repository
store, end, rounds = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
repository = open_repository(store)
while time.monotonic() < end:
    for command in (["repack", "-adq"], ["pack-refs", "--all"], ["prune-packed"]):
        subprocess.run(["git", f"--git-dir={store}", *command], check=True, stderr=subprocess.DEVNULL)
    gc(repository)
    rounds += 1
print(rounds)
"""


@pytest.fixture
def store(tmp_path):
    """Make a store with the conversation conv-001."""
    path = str(tmp_path / "store.git")
    create_store(path)
    new(open_repository(path))
    return path


def all_write(store: str, writers: int, messages: int) -> None:
    finish([start(WRITER, store, f"w{number}", messages) for number in range(writers)])
    assert_each_wrote(store, writers, messages)


def assert_each_wrote(store: str, writers: int, messages: int) -> None:
    """Assert that every message is stored once, and those of each writer in order."""
    texts = read_texts(open_repository(store), "conv-001/main")
    for number in range(writers):
        mine = [text for text in texts if text.startswith(f"w{number}/")]
        assert mine == [f"w{number}/{message}" for message in range(messages)]
    assert sum(text.startswith("w") for text in texts) == writers * messages
    assert_sound(store)


def test_four_processes_lose_none_of_their_messages(store):
    """P5."""
    all_write(store, 4, 15)


@pytest.mark.sweep
def test_eight_processes_lose_none_of_800_messages(store):
    """P5."""
    all_write(store, 8, 100)


@pytest.mark.sweep
def test_a_hundred_concurrent_processes_append_one_message_each(store):
    """P5: as git's own test of many concurrent writers."""
    all_write(store, 100, 1)


def all_run_commands(store: str, count: int) -> None:
    outputs = finish([start_scopes(store, "conv", "append", "conv-001", f"t{n}", "--json") for n in range(count)])
    texts = read_texts(open_repository(store), "conv-001/main")
    assert sorted(texts) == sorted(f"t{number}" for number in range(count))
    assert len({json.loads(line)["id"] for line in outputs}) == count
    assert_sound(store)


def test_six_concurrent_append_commands_are_all_recorded(store):
    """P5."""
    all_run_commands(store, 6)


@pytest.mark.sweep
def test_twenty_concurrent_append_commands_are_all_recorded(store):
    """P5."""
    all_run_commands(store, 20)


def mixed_operations(store: str, writers: int, messages: int, rounds: int) -> None:
    writing = [start(WRITER, store, f"w{number}", messages) for number in range(writers)]
    finish([*writing, start(MIXER, store, rounds)])
    assert_each_wrote(store, writers, messages)
    assert len(json.loads(scopes(store, "conv", "branch", "conv-001", "--json"))["branches"]) == rounds + 1


def test_appends_survive_concurrent_branching_renaming_undoing_and_packing(store):
    """P5, P7."""
    mixed_operations(store, 2, 25, 4)


@pytest.mark.sweep
def test_many_appends_survive_much_concurrent_branching_renaming_undoing_and_packing(store):
    """P5, P7."""
    mixed_operations(store, 6, 200, 40)


@pytest.mark.parametrize("makers", [2, pytest.param(12, marks=pytest.mark.sweep)])
def test_concurrent_imports_import_the_sample_once(store, makers):
    """P5: the same source imported by several at once."""
    outputs = finish([start_scopes(store, "conv", "import", "--sample", "--json") for _ in range(makers)])
    results = [json.loads(output) for output in outputs]
    assert {result["conversation"] for result in results} == {"conv-002"}
    assert sorted(result["new_messages"] > 0 for result in results) == [False] * (makers - 1) + [True]
    assert_sound(store)


@pytest.mark.parametrize("makers", [2, pytest.param(12, marks=pytest.mark.sweep)])
def test_concurrent_first_uses_create_one_store_and_a_conversation_each(tmp_path, makers):
    """P5: the first process creates the store, and the others write into it."""
    store = str(tmp_path / "data" / "store.git")
    outputs = finish([start_scopes(store, "conv", "new", "--json") for _ in range(makers)])
    found = sorted(json.loads(output)["id"] for output in outputs)
    assert found == [f"conv-{number:03d}" for number in range(1, makers + 1)]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["store.git"]
    assert_sound(store)


def read_while_packing(store: str, readers: int, length: int, seconds: float) -> tuple[int, int]:
    """Walk a branch repeatedly during repack, pack-refs, gc and appends; return the numbers of walks and packing rounds."""
    finish([start(WRITER, store, "old", length)])
    crowd = [start(READER, store, length, seconds) for _ in range(readers)]
    crowd += [start(PACKER, store, seconds), start(WRITER, store, "new", int(seconds * 5))]
    outputs = finish(crowd)
    assert_sound(store)
    return sum(map(int, outputs[:readers])), int(outputs[readers])


@pytest.mark.slow
def test_readers_never_fail_or_see_a_short_branch_during_packing(store):
    """P6."""
    walks, rounds = read_while_packing(store, 2, 40, amount(25, 4) / 10)
    assert walks > 0
    assert rounds > 0


@pytest.mark.sweep
def test_three_readers_of_300_messages_never_fail_during_a_minute_of_packing(store):
    """P6."""
    walks, rounds = read_while_packing(store, 3, 300, 60)
    print(f"{walks} walks of 300 messages beside {rounds} rounds of repack, pack-refs, prune-packed and gc")
    assert walks > 100
    assert rounds > 20


def test_the_lock_of_a_killed_process_blocks_no_other(store):
    """P4, E-49: the kernel releases the lock of a killed process."""
    holder = start(
        "import sys, time; from scopes.store.locks import StoreLock\n"
        "with StoreLock(sys.argv[1]).exclusive():\n    print('held', flush=True); time.sleep(60)",
        store,
    )
    assert holder.stdout.readline() == "held\n"
    waiting = start_scopes(store, "conv", "append", "conv-001", "after all")
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=0.5)
    holder.kill()
    killed = time.monotonic()
    finish([waiting])
    assert time.monotonic() - killed < 10
    holder.communicate()
    assert read_texts(open_repository(store), "conv-001/main") == ["after all"]
