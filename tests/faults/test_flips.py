"""P10: one flipped bit, or a truncation, in every kind of file of a store.

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

from tests.faults.sandbox import CRASH, Sandbox, copy_store
from tests.faults.seed import todays_seed
from tests.faults.verbs import FULL
from tests.support.examples import amount

KINDS = {
    "loose object": r"objects/[0-9a-f]{2}/.*",
    "pack": r"objects/pack/.*\.pack",
    "pack index": r"objects/pack/.*\.idx",
    "bitmap": r"objects/pack/.*\.(bitmap|rev)",
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
IN_EVERY_RUN, IN_A_SWEEP = amount(4, 1), 300


class Damage(NamedTuple):
    """Damage to a file: a flipped bit, or with bit -1 a truncation at that byte."""

    path: str
    byte: int
    bit: int

    def __str__(self) -> str:
        return f"{self.path}, byte {self.byte}, " + ("cut off" if self.bit < 0 else f"bit {self.bit}")


@pytest.fixture(scope="module")
def sandbox(plain_sandbox, templates):
    """Return a sandbox whose store is half packed, half loose."""
    plain_sandbox.restore(None)
    copy_store(templates[FULL], plain_sandbox.store, share=False)
    return plain_sandbox


def choose_damages(store: str, kind: str, count: int, seed: int) -> Iterator[Damage]:
    """Choose that many different damages to files of a kind; every fourth is a truncation."""
    rng = random.Random(f"{seed}/{kind}")
    paths = [os.path.join(top, name) for top, _, files in os.walk(store) for name in files]
    names = sorted(os.path.relpath(path, store) for path in paths if os.path.getsize(path))
    names = [name for name in names if re.fullmatch(KINDS[kind], name)]
    chosen: set[Damage] = set()
    for turn in range(count * 3):
        if not names or len(chosen) == count:
            break
        name = rng.choice(names)
        byte = rng.randrange(os.path.getsize(os.path.join(store, name)))
        chosen.add(Damage(name, byte, -1 if turn % 4 == 3 else rng.randrange(8)))
    yield from sorted(chosen)


def judge(sandbox: Sandbox, damage: Damage, whole: dict) -> str:
    """Apply the damage, read everything in a new process, undo the damage, and return the verdict."""
    path = os.path.join(sandbox.store, damage.path)
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        original = file.read()
    damaged = bytearray(original[: damage.byte] if damage.bit < 0 else original)
    if damage.bit >= 0:
        damaged[damage.byte] ^= 1 << damage.bit
    write(path, damaged)
    seen = sandbox.describe()
    outcome = judge_crash(sandbox, seen) if seen["refused"].startswith(CRASH) else verdict(seen, whole)
    write(path, original)
    return outcome


def write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def judge_crash(sandbox: Sandbox, seen: dict) -> str:
    """Accept a crash of libgit2, which does not check pack indexes, if `verify` reports the damage."""
    named = seen["refused"].startswith(f"{CRASH} {-signal.SIGSEGV}") and sandbox.find_defects()
    return "died in libgit2, reported" if named else seen["refused"].upper()


def verdict(seen: dict, whole: dict) -> str:
    """Name an outcome: right, refused and reported are accepted; SILENT is a failure.

    Settings are not compared: a configuration has no checksum, and says nothing about what was said.
    """
    if seen["refused"]:
        return "refused"
    reported = bool(seen["verify"])
    if all(seen[key] == whole[key] for key in ("refs", "messages", "texts")) and not seen["problems"]:
        return "right, reported" if reported else "right"
    return "refused, reported" if reported else f"SILENT {seen['problems'][:1]} {difference(seen, whole)}"


def difference(seen: dict, whole: dict) -> list[str]:
    """Return the refs that a reader sees with other values."""
    return [ref for ref in {*seen["refs"], *whole["refs"]} if seen["refs"].get(ref) != whole["refs"].get(ref)][:3]


@pytest.fixture(scope="module")
def whole(sandbox):
    """What is read from the undamaged store."""
    seen = sandbox.describe()
    assert seen["refs"]
    return seen


def damage_all(sandbox: Sandbox, whole: dict, kind: str, count: int, seed: int) -> Counter[str]:
    """Try damages of one kind; return the number of each outcome, with failures by name."""
    outcomes: Counter[str] = Counter()
    for damage in choose_damages(sandbox.store, kind, count, seed):
        outcome = judge(sandbox, damage, whole)
        outcomes[f"{outcome}: {damage}" if outcome[0].isupper() else outcome] += 1
    assert sandbox.describe() == whole
    return outcomes


@pytest.mark.slow
def test_every_file_of_a_store_has_a_kind(sandbox):
    """A new kind of file must not be forgotten."""
    paths = [os.path.join(top, name) for top, _, files in os.walk(sandbox.store) for name in files]
    names = [os.path.relpath(path, sandbox.store) for path in paths]
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in KINDS.values())] == []


@pytest.mark.every_case("each is another kind of file")
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_damages_in_each_kind_of_file_is_refused_or_reported(sandbox, whole, kind):
    """P10; other bits every day."""
    outcomes = damage_all(sandbox, whole, kind, IN_EVERY_RUN, todays_seed())
    assert [outcome for outcome in outcomes if outcome[0].isupper()] == []


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_damages_in_each_kind_of_file_are_refused_or_reported(sandbox, whole, kind):
    """P10."""
    outcomes = damage_all(sandbox, whole, kind, IN_A_SWEEP, 0)
    print(f"{kind}: {dict(outcomes)}")
    assert [outcome for outcome in outcomes if outcome[0].isupper()] == []
