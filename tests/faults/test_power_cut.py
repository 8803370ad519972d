"""P1: what a command reported as stored survives a power cut; also checked by the order of syncs, without a disk."""

from __future__ import annotations

import random

import pytest

from tests.faults.injection import Call
from tests.faults.power_cut import WAITS_SECONDS, Disk, cut_after
from tests.faults.seed import todays_seed
from tests.faults.sweep import COMMAND_SEED
from tests.faults.sync_order import EXPENDABLE, find_unsynced
from tests.faults.verbs import VERBS
from tests.support.examples import amount

VERBS_IN_A_SAMPLE = amount(4, 1)
# What git moves out of its packs because nothing refers to it, and the reflogs that it cuts, may be lost.
EXPENDABLE_IN_GC = (*EXPENDABLE, "logs/", *(f"objects/{number:02x}" for number in range(256)))
UNSAFE = [
    Call(1, "write", "store.git/objects/tmp_1", ""),
    Call(2, "link", "store.git/objects/tmp_1", "store.git/objects/aa/bb"),
    Call(3, "write", "store.git/refs/heads/x.lock", ""),
    Call(4, "fsync", "store.git/refs/heads/x.lock", ""),
    Call(5, "rename", "store.git/refs/heads/x.lock", "store.git/refs/heads/x"),
]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Mount an ext4 file system whose image can be copied at any moment."""
    made = Disk(str(tmp_path_factory.mktemp("power")))
    yield made
    made.close()


@pytest.mark.needs_gcc
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
@pytest.mark.cases(3)
def test_everything_is_synced_before_it_is_referenced(sandbox, templates, verb):
    """P1: objects before the ref, packs before the refs, and all of it before the command returns."""
    sandbox.restore(templates[verb.template])
    with sandbox.injector.armed(sandbox.data, log=True):
        outcome = sandbox.run(list(verb.arguments), seed=COMMAND_SEED, stdin=verb.stdin, injected=True)
    assert outcome.code == verb.code, outcome
    calls = sandbox.injector.calls(sandbox.data)
    assert any(call.name == "fsync" for call in calls)
    expendable = EXPENDABLE_IN_GC if verb.starts_git else EXPENDABLE
    left = list(find_unsynced(calls, "store.git", expendable))
    assert left == [], left


def test_the_check_reports_a_file_referenced_before_it_is_synced():
    """The check itself."""
    assert list(find_unsynced(UNSAFE, "store.git")) == [
        "objects/aa/bb is put in place before it is synced",
        "refs/heads/x moves before its objects are in place for good: ['objects/aa']",
        "objects/aa is not synced at the end",
        "objects/aa/bb is not synced at the end",
        "refs/heads is not synced at the end",
    ]


@pytest.mark.needs_gcc
@pytest.mark.needs_root
def test_a_sample_of_commands_survives_a_power_cut_at_their_return(sandbox, templates, disk):
    """P1; the sample changes every day."""
    for verb in random.Random(todays_seed()).sample(VERBS, VERBS_IN_A_SAMPLE):
        assert cut_after(sandbox, disk, verb, templates[verb.template], 0) == [], verb.name


@pytest.mark.sweep
@pytest.mark.needs_gcc
@pytest.mark.needs_root
@pytest.mark.parametrize("wait", WAITS_SECONDS)
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_command_survives_a_power_cut(sandbox, templates, disk, verb, wait):
    """P1: at once, and 6 and 12 seconds later, when the kernel has written a part of the unsynced data."""
    assert cut_after(sandbox, disk, verb, templates[verb.template], wait) == []
