"""Damage to the files of a store, through the command line: `verify` names it, `repair` mends it, nothing is lost."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess

import pytest

from tests.cli.running import PRODUCT, scopes


@pytest.fixture
def store(tmp_path):
    """Make a store with the conversations conv-001 and conv-002, and a message in the first one."""
    path = str(tmp_path / "store.git")
    for words in (("new",), ("append", "conv-001", "hello", "--as", "carol"), ("new",)):
        assert run(path, *words).returncode == 0
    return path


def run(store, *words):
    """Run scopes on a store."""
    return scopes("--store", store, *words, table=PRODUCT, cwd=os.path.dirname(store))


def write(store, name, content):
    with open(os.path.join(store, name), "wb") as file:
        file.write(content)


def git(store, *words):
    subprocess.run(["git", f"--git-dir={store}", *words], check=True, capture_output=True)


def listed(store):
    return {row["id"] for row in json.loads(run(store, "list", "--json").stdout)["conversations"]}


def assert_repaired(store, where):
    """Assert that `repair` mends what is named, and that then everything is there and can be written."""
    done = run(store, "verify", "--repair")
    assert (done.returncode, where in done.stdout) == (0, True), done
    assert run(store, "verify").returncode == 0
    assert listed(store) == {"conv-001", "conv-002"}
    assert "hello" in run(store, "log", "conv-001").stdout
    assert run(store, "append", "conv-001", "more", "--as", "carol").returncode == 0


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\0" * 41])
def test_a_damaged_operation_log_stops_no_reader_and_is_restored_from_its_reflog(store, content):
    """T1: it locked the whole store."""
    write(store, "refs/scopes/operations", content)
    assert listed(store) == {"conv-001", "conv-002"}
    assert run(store, "append", "conv-001", "x", "--as", "carol").returncode == 7
    found = run(store, "verify")
    assert (found.returncode, "refs/scopes/operations\tits file is damaged" in found.stdout) == (7, True)
    assert run(store, "doctor").returncode == 1
    assert_repaired(store, "refs/scopes/operations")


@pytest.mark.parametrize("damage", ["missing", "flipped", "empty"])
def test_the_index_of_a_pack_is_built_again(store, damage):
    """T2: it was reported as a loss."""
    git(store, "gc", "--quiet")
    (index,) = glob.glob(f"{store}/objects/pack/*.idx")
    with open(index, "rb") as file:
        content = bytearray(file.read())
    content[1100] ^= 1
    os.unlink(index)
    if damage != "missing":
        write(store, os.path.relpath(index, store), bytes(content) if damage == "flipped" else b"")
    found = run(store, "verify")
    assert (found.returncode, os.path.basename(index) in found.stdout) == (7, True)
    assert_repaired(store, os.path.basename(index))


def test_a_pack_of_a_killed_gc_is_no_error(store):
    git(store, "gc", "--quiet")
    (pack,) = glob.glob(f"{store}/objects/pack/pack-*.pack")
    shutil.copy(pack, f"{store}/objects/pack/pack-{'0' * 40}.pack")
    write(store, "objects/pack/.tmp-7-pack-1.pack", b"PACK")
    found = run(store, "verify")
    assert (found.returncode, "the index of the pack is missing" in found.stdout) == (0, True)


@pytest.mark.parametrize("content", [None, b"", b"garbage\n"])
def test_a_damaged_head_is_named_and_written_again(store, content):
    """T4: `verify` was silent, or no command named it."""
    os.unlink(os.path.join(store, "HEAD"))
    if content is not None:
        write(store, "HEAD", content)
    found = run(store, "verify")
    assert (found.returncode, "HEAD" in found.stdout + found.stderr) == (7, True)
    assert_repaired(store, "HEAD")


@pytest.mark.parametrize("content", [b"", b"\0" * 200])
def test_a_zeroed_configuration_is_named_and_written_again(store, content):
    """T4."""
    write(store, "config", content)
    found = run(store, "verify")
    assert (found.returncode, "the configuration of the store" in found.stderr) == (7, True)
    assert_repaired(store, "config")


def test_a_format_that_is_too_new_is_named(store):
    """T4."""
    git(store, "config", "scopes.formatVersion", "99")
    found = run(store, "verify")
    assert (found.returncode, "config\tthe store has format 99" in found.stdout) == (7, True)


def test_one_damaged_ref_is_named_in_a_list_of_the_others(store):
    """T4: the whole list failed."""
    write(store, "refs/heads/conv-002/main", b"garbage\n")
    done = run(store, "list")
    assert ("conv-001" in done.stdout, "conv-002/main" in done.stderr) == (True, True)
    assert_repaired(store, "conv-002/main")


def test_zeros_in_packed_refs_are_named_and_removed(store):
    """T4: they stopped `repair`."""
    git(store, "pack-refs", "--all")
    with open(os.path.join(store, "packed-refs"), "ab") as file:
        file.write(b"\0" * 50)
    found = run(store, "verify")
    assert (found.returncode, "packed-refs of the store is damaged" in found.stdout) == (7, True)
    assert_repaired(store, "packed-refs")


def test_a_merge_rule_for_an_unknown_type_of_conflict_is_refused(store):
    """A10: in the configuration and on the command line."""
    for words in (
        ("config", "scopes.merge.rule.nosuch", "first"),
        ("-c", "scopes.merge.rule.nosuch=first", "list"),
    ):
        done = run(store, *words)
        assert (done.returncode, "'nosuch' is not a valid conflict type" in done.stderr) == (2, True), done
