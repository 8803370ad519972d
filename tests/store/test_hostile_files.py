"""A store with named pipes, devices, links and huge files where files belong: nothing waits, and the rest is usable."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import zlib
from typing import NamedTuple

import pytest

from scopes import clock
from scopes.conversation.list import list_conversations
from scopes.ids import Oid
from scopes.store.objects import find_loose
from scopes.store.operations import walk_moves
from scopes.store.refs import read_ref_files
from tests.cli.running import environment
from tests.support.fork_server import run_program
from tests.support.history import history
from tests.support.random_ids import hashed_counter
from tests.support.store import git, open_store, write_chain

LIMIT_SECONDS = 60
READERS = ("conv list", "conv show two", "conv log two", "conv search beta")
WRITER = "conv append two --as carol x"
EVERYWHERE = ("packed-refs", "HEAD", "config", "objects/pack/pack-1.idx", "objects/info/commit-graph", "shallow")
PROGRAM = """
import contextlib, io, json, resource, sys
from scopes.cli.main import main
from scopes.cli.table import TABLE
store, limit, *commands = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(["--store", store, *command.split()], TABLE)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class Done(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def store(repository, monkeypatch):
    """Make a store with the conversations one and two, and a branch other of one."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    history(repository, "main: alpha", conversation="one")
    history(repository, "main: beta", conversation="two")
    git(
        repository, "update-ref", "refs/heads/one/other", repository.list_refs("refs/heads/one/")["refs/heads/one/main"]
    )
    return repository.path


def replace_by_pipe(path):
    """Put a named pipe at a path; return its path."""
    if os.path.lexists(path):
        os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkfifo(path)
    return path


def run(store, *commands, memory=0):
    """Run commands in one child process, with so many bytes of address space; fail if a command waits or crashes.

    SIGTERM would not end the child while signals are deferred; it is killed.
    """
    done = run_program(
        PROGRAM, [store, str(memory), *commands], environment(), stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS
    )
    answers = [Done(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(answers) == len(commands), done.stderr
    for command, answer in zip(commands, answers, strict=True):
        assert answer.code != 70, (command, answer.err)
    return answers


@pytest.mark.parametrize("ref", ["refs/heads/one/other", "refs/heads/one/main", "refs/scopes/meta/one"])
def test_a_pipe_as_a_ref_costs_that_ref_alone(store, ref):
    """R5: the other conversations are listed, read and written; `list` names the ref."""
    replace_by_pipe(f"{store}/{ref}")
    listed, *done = run(store, *READERS, WRITER)
    assert (listed.code, [answer.code for answer in done]) == (7, [0, 0, 0, 0]), done
    assert "two\t" in listed.out
    assert ref.removeprefix("refs/heads/") in listed.err


@pytest.mark.parametrize("where", ["one/link", "three"])
def test_a_linked_directory_below_refs_is_named_and_not_followed(store, tmp_path, where):
    """R5: it failed every listing."""
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", f"{store}/refs/heads/{where}")
    listed, one = run(store, "conv list", "conv log one")
    assert (listed.code, where in listed.err, one.code) == (7, True, 0), listed
    assert {line.partition("\t")[0] for line in listed.out.splitlines()} == {"one", "two"}


def test_a_loop_of_links_as_a_ref_is_damage(store):
    os.symlink("loop", f"{store}/refs/heads/one/loop")
    assert read_ref_files(store, ("refs/heads/",)).list_damaged(("refs/heads/",)) == ["refs/heads/one/loop"]
    assert "refs/heads/one/main" in read_ref_files(store, ("refs/heads/",)).list_refs(("refs/heads/",))


def test_a_huge_ref_file_is_damage_and_is_not_read(store):
    os.truncate(f"{store}/refs/heads/one/other", 1 << 33)
    commands = ("conv list", "conv log one/main", "conv log one/other")
    assert [done.code for done in run(store, *commands, memory=1 << 30)] == [7, 0, 4]


def test_a_reflog_of_many_blocks_is_read_backwards_in_order(repository):
    tips = write_chain(repository, "one", "two")
    path = f"{repository.path}/logs/refs/heads/x/main"
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(
            f"{tips[0]} {tips[1]} a <b@c> {second} +0000\t{'r' * (second % 97)}\n" for second in range(3000)
        )
    assert [move.time for move in walk_moves(repository, "refs/heads/x/main")] == list(reversed(range(3000)))


def put_object(store, header, size):
    """Write a loose object of that many zero bytes; return its id, which is not its hash."""
    packer = zlib.compressobj(9)
    stored = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    oid = hashlib.sha1(header, usedforsecurity=False).hexdigest()
    os.makedirs(f"{store}/objects/{oid[:2]}", exist_ok=True)
    with open(f"{store}/objects/{oid[:2]}/{oid[2:]}", "wb") as file:
        file.write(stored + block * (size >> 20) + packer.flush())
    return Oid(oid)


@pytest.mark.parametrize("claimed", [6000 << 20, 10])
def test_an_object_that_expands_without_end_is_damage_in_little_memory(store, claimed):
    """R5: a file of 6 MB that expands to 6 GB, as its header says, or not."""
    oid = put_object(store, f"commit {claimed}\0".encode(), 6000 << 20)
    with open(f"{store}/refs/heads/one/bomb", "w", encoding="utf-8") as file:
        file.write(oid)
    found, listed, verified = run(store, "conv search beta", "conv list", "verify", memory=1 << 30)
    assert (found.code, "two" in found.out) == (0, True), found
    assert (listed.code, "two" in listed.out) == (7, True), listed
    assert (verified.code, oid in verified.out) == (7, True), verified


@pytest.mark.sweep
def test_a_packed_object_that_expands_without_end_is_damage_in_little_memory(store, tmp_path):
    """R5: a pack of 600 kB with a commit of 600 MB, as its header says."""
    (tmp_path / "commit").write_bytes(
        b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\n"
    )
    os.truncate(tmp_path / "commit", 600 << 20)
    oid = git(store, "hash-object", "-w", "-t", "commit", "--literally", str(tmp_path / "commit")).strip()
    os.unlink(tmp_path / "commit")
    with open(f"{store}/refs/heads/one/bomb", "w", encoding="utf-8") as file:
        file.write(oid)
    git(store, "repack", "-a", "-d", "-q")
    assert not os.path.exists(f"{store}/objects/{oid[:2]}/{oid[2:]}")
    found, verified = run(store, "conv search beta", "verify", memory=1 << 29)
    assert (found.code, "two" in found.out) == (0, True), found
    assert (verified.code, oid in verified.out) == (7, True), verified


def test_objects_around_the_limits_of_the_header_are_read(repository):
    """The header is read first, in at most 32 bytes."""
    for size in (*range(60), 1 << 20):
        data = os.urandom(size)
        oid = repository.write("blob", data)
        assert find_loose(f"{repository.path}/objects", oid) == ("blob", data)


def test_the_index_of_a_list_names_the_damaged_ref_each_time(store, tmp_path):
    replace_by_pipe(f"{store}/refs/heads/one/other")
    for _ in range(2):
        listed = list_conversations(open_store(store), str(tmp_path / "index"))
        assert (listed.damaged, listed.exit_code) == (("one",), 7)
        assert "one/other" in listed.notes[0].text
        assert {row.id for row in listed.conversations} == {"one", "two"}
