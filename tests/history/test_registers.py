"""Clocks of metadata: which commands give a register a clock, and what readers and `verify` make of them."""

from __future__ import annotations

import json
import re

import pytest

from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import delete_branch, new, rename_branch, rename_title
from scopes.conversation.verify import verify
from scopes.errors import Corrupt, Invalid
from scopes.history import metadata as registers
from scopes.history.metadata import Clock, decode_clock, encode_clock, read_clocks, read_metadata, write_metadata
from scopes.history.transaction import Transaction
from scopes.ids import Oid
from scopes.store.config import check_key
from scopes.store.objects import read_commit
from scopes.store.refs import meta_ref
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.random_ids import spread_ids
from tests.support.store import git, make_store, open_store

__all__ = ["spread_ids"]
CONV = "conv-001"
MACHINE = re.compile(r"[0-9a-f]{12}")


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch):
    """Let the clock of the machine stand at 1970: then clocks count the changes."""
    monkeypatch.setattr(registers, "now_milliseconds", lambda: 0)


def clocks(repository):
    """Return the numbers of the clocks of the conversation, by register."""
    tree = read_commit(repository, Oid(repository.find_ref(meta_ref(CONV)))).tree
    return {register: clock.number for register, clock in read_clocks(repository, tree).items()}


def machines(repository):
    """Return the machines of the clocks."""
    tree = read_commit(repository, Oid(repository.find_ref(meta_ref(CONV)))).tree
    return {clock.machine for clock in read_clocks(repository, tree).values()}


def damage_clock(repository, data):
    """Overwrite the clock of the title."""
    meta = Oid(repository.find_ref(meta_ref(CONV)))
    git(repository, "update-ref", meta_ref(CONV), write_metadata(repository, meta, {"clocks/title": data}, "damage"))


def test_what_creates_a_conversation_or_a_branch_has_no_clock(repository):
    """Nobody else can have it, and these commands write as few objects as before."""
    new(repository, title="one", directory="/work")
    branch(repository, CONV, name="fix")
    assert clocks(repository) == {}


def test_every_further_change_counts_the_clock_of_its_register_alone(repository):
    new(repository, title="one")
    rename_title(repository, CONV, "two")
    rename_title(repository, CONV, "three")
    tag(repository, CONV, "v1")
    assert clocks(repository) == {"title": 2, "tags/v1": 1}


def test_a_clock_is_the_time_of_the_change_and_greater_than_the_one_before(repository, monkeypatch):
    moments = iter((5_000, 7_000, 3_000))
    monkeypatch.setattr(registers, "now_milliseconds", lambda: next(moments))
    new(repository, title="one")
    seen = []
    for title in ("two", "three", "four"):
        rename_title(repository, CONV, title)
        seen.append(clocks(repository)["title"])
    assert seen == [5_000, 7_000, 7_001]


def test_a_removed_value_leaves_its_clock(repository):
    """Else a machine that still has the value would bring it back."""
    new(repository)
    tag(repository, CONV, "v1")
    delete_tag(repository, CONV, "v1")
    assert clocks(repository) == {"tags/v1": 2}
    assert read_metadata(repository, CONV).tags == {}
    tag(repository, CONV, "v1")
    assert clocks(repository) == {"tags/v1": 3}


def test_a_change_to_the_same_value_is_none(repository):
    new(repository, title="one")
    head = Oid(repository.find_ref("refs/heads/conv-001/main"))
    with exclusive_write(repository):
        for _ in range(2):
            tx = Transaction(repository, CONV)
            tx.set_tag("v1", head)
            tx.commit("tag", "tag it")
    assert clocks(repository) == {"tags/v1": 1}


def test_the_machine_has_one_random_id_per_store(tmp_path):
    stores = [make_store(tmp_path / f"{number}.git") for number in range(2)]
    found = set()
    for store in stores:
        new(store)
        rename_title(store, CONV, "a")
        rename_title(open_store(store.path), CONV, "b")
        tag(store, CONV, "v1")
        (machine,) = machines(store)
        assert MACHINE.fullmatch(machine)
        found.add(machine)
    assert len(found) == 2


def test_the_id_of_the_machine_is_in_the_configuration_of_the_store_and_cannot_be_set(repository):
    new(repository)
    rename_title(repository, CONV, "a")
    assert {git(repository, "config", "scopes.machineId").strip()} == machines(repository)
    with pytest.raises(Invalid):
        check_key("scopes.machineId")


def test_an_import_gives_no_clock_but_a_given_title_has_one(repository, tmp_path):
    """What comes from a source is the same everywhere; a title that the user gave must win over the source's."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    assert clocks(repository) == {}
    store = make_store(tmp_path / "other.git")
    import_demo(store, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")), title="Mine")
    assert clocks(store) == {"title": 1}


def test_a_renamed_branch_is_one_register_with_one_clock(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    rename_branch(repository, CONV, "fix", "better")
    rename_branch(repository, CONV, "better", "best")
    (register,) = clocks(repository)
    assert (register.partition("/")[0], clocks(repository)[register]) == ("branches", 2)


def test_a_deleted_branch_leaves_its_clock(repository):
    new(repository)
    branch(repository, CONV, name="fix", switch=False)
    entry = json.loads(git(repository, "show", f"{meta_ref(CONV)}:branches/fix"))
    delete_branch(repository, CONV, "fix")
    assert clocks(repository) == {f"branches/{entry['id']}": 1}


def test_readers_see_no_clocks(repository):
    new(repository, title="one")
    rename_title(repository, CONV, "two")
    metadata = read_metadata(repository, CONV)
    assert (metadata.title, list(metadata.branches), metadata.tags) == ("two", ["main"], {})


@pytest.mark.parametrize("clock", [Clock(1, "0123456789ab"), Clock(10**17, "ffffffffffff")])
def test_a_clock_is_one_line(clock):
    data = encode_clock(clock)
    assert decode_clock(data) == clock
    assert data.count(b"\n") == 1


@pytest.mark.parametrize(
    "data", [b"", b"1 \n", b"1 0123456789ab", b"01 0123456789ab\n", b"-1 0123456789ab\n", b"1 0123456789AB\n"]
)
def test_what_is_no_clock_is_refused(data):
    with pytest.raises(Corrupt):
        decode_clock(data)


def test_verify_reports_a_damaged_clock(repository):
    new(repository, title="one")
    rename_title(repository, CONV, "two")
    damage_clock(repository, b"many\n")
    (finding,) = [found for found in verify(repository).findings if found.severity == "error"]
    assert (finding.where, finding.problem) == (f"{CONV}: metadata", "a clock of the metadata is damaged")
