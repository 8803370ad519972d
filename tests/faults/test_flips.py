"""P10: one damaged bit, or a file cut short, in every kind of file that a store has.

Whoever reads gets the right text or a refusal, and `verify` names the damage, unless everything there is to read is as
it was. Every reader is a fresh process: libgit2 keeps packs open by their path.
"""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.faults.seed import todays_seed
from tests.faults.verbs import FULL, build_templates
from tests.faults.world import CRASH, World, copy_store

KINDS = {
    "loose object": r"objects/[0-9a-f]{2}/.*",
    "pack": r"objects/pack/.*\.pack",
    "pack index": r"objects/pack/.*\.idx",
    "bitmap": r"objects/pack/.*\.(bitmap|rev)",
    "commit graph": r"objects/info/commit-graph",
    "packed refs": r"packed-refs",
    "branch": r"refs/heads/.*",
    "metadata": r"refs/scopes/meta/.*",
    "active branch": r"refs/scopes/active/.*",
    "operations": r"refs/scopes/operations",
    "trash": r"refs/scopes/trash/.*",
    "reflog": r"logs/.*",
    "configuration": r"config",
    "head": r"HEAD",
    "what git makes anew": r"(info|objects/info)/(refs|packs|exclude)",
    "what nobody reads": r"description|hooks/.*|scopes\.(lock|turnstile)",
}
IN_EVERY_RUN, IN_A_SWEEP = 4, 300


class Damage(NamedTuple):
    """What is done to a file: a bit is turned over, or with -1 the file ends before that byte."""

    path: str
    byte: int
    bit: int

    def __str__(self) -> str:
        return f"{self.path}, byte {self.byte}, " + ("cut off" if self.bit < 0 else f"bit {self.bit}")


@pytest.fixture(scope="module")
def world(fast_directory):
    """Make a world whose store is half packed, half loose."""
    made = World(os.path.join(fast_directory, "flips"))
    templates = build_templates(made, os.path.join(fast_directory, "flips"))
    made.restore(None)
    copy_store(templates[FULL], made.store, share=False)
    yield made
    made.close()


def choose_damages(store: str, kind: str, count: int, seed: int) -> Iterator[Damage]:
    """Choose so many different damages to files of a kind, every fourth a cut."""
    dice = random.Random(f"{seed}/{kind}")
    paths = [os.path.join(top, name) for top, _, files in os.walk(store) for name in files]
    names = sorted(os.path.relpath(path, store) for path in paths if os.path.getsize(path))
    names = [name for name in names if re.fullmatch(KINDS[kind], name)]
    chosen: set[Damage] = set()
    for turn in range(count * 3):
        if not names or len(chosen) == count:
            break
        name = dice.choice(names)
        byte = dice.randrange(os.path.getsize(os.path.join(store, name)))
        chosen.add(Damage(name, byte, -1 if turn % 4 == 3 else dice.randrange(8)))
    yield from sorted(chosen)


def judge(world: World, damage: Damage, whole: dict) -> str:
    """Do the damage, read everything in a fresh process, undo it, and say what the reader got."""
    path = os.path.join(world.store, damage.path)
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        original = file.read()
    damaged = bytearray(original[: damage.byte] if damage.bit < 0 else original)
    if damage.bit >= 0:
        damaged[damage.byte] ^= 1 << damage.bit
    write(path, damaged)
    seen = world.describe()
    outcome = judge_crash(world, seen) if seen["refused"].startswith(CRASH) else verdict(seen, whole)
    write(path, original)
    return outcome


def write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def judge_crash(world: World, seen: dict) -> str:
    """Let a reader be killed by libgit2, which follows a pack index anywhere, where `verify` names the damage."""
    named = seen["refused"].startswith(f"{CRASH} {-signal.SIGSEGV}") and world.find_defects()
    return "died in libgit2, reported" if named else seen["refused"].upper()


def verdict(seen: dict, whole: dict) -> str:
    """Name an outcome: refused and reported are as good as right; SILENT is a failure.

    Settings are not compared: a configuration has no checksum, and says nothing about what was said.
    """
    if seen["refused"]:
        return "refused"
    reported = bool(seen["verify"])
    if all(seen[key] == whole[key] for key in ("refs", "messages", "texts")) and not seen["problems"]:
        return "right, reported" if reported else "right"
    return "refused, reported" if reported else f"SILENT {seen['problems'][:1]} {difference(seen, whole)}"


def difference(seen: dict, whole: dict) -> list[str]:
    """Name the refs that a reader sees elsewhere."""
    return [ref for ref in {*seen["refs"], *whole["refs"]} if seen["refs"].get(ref) != whole["refs"].get(ref)][:3]


def damage_all(world: World, kind: str, count: int, seed: int) -> Counter[str]:
    """Try damages of one kind and return how often each outcome came, the failures by name."""
    whole = world.describe()
    assert whole["refs"]
    outcomes: Counter[str] = Counter()
    for damage in choose_damages(world.store, kind, count, seed):
        outcome = judge(world, damage, whole)
        outcomes[f"{outcome}: {damage}" if outcome[0].isupper() else outcome] += 1
    assert world.describe() == whole
    return outcomes


def test_every_file_of_a_store_has_a_kind(world):
    """A new kind of file must not be left out."""
    paths = [os.path.join(top, name) for top, _, files in os.walk(world.store) for name in files]
    names = [os.path.relpath(path, world.store) for path in paths]
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in KINDS.values())] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_damages_of_each_kind_are_survived(world, kind):
    """P10; other bits every day."""
    outcomes = damage_all(world, kind, IN_EVERY_RUN, todays_seed())
    assert [outcome for outcome in outcomes if outcome[0].isupper()] == []


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_damages_of_each_kind_are_survived(world, kind):
    """P10."""
    outcomes = damage_all(world, kind, IN_A_SWEEP, 0)
    print(f"{kind}: {dict(outcomes)}")
    assert [outcome for outcome in outcomes if outcome[0].isupper()] == []
