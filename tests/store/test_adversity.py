"""Full and read-only disks, other owners, unreadable home_directories, limits: a clean error, and no partial change.

Every condition is real: a small file system, a read-only mount, another owner, a process without root's capabilities.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess

import pytest

from scopes.errors import Inaccessible
from scopes.store.transactions import append
from tests.store.conftest import AS_A_MERE_USER
from tests.support.store import (
    FAST,
    HEADS,
    MAIN,
    Process,
    assert_sound,
    files_of,
    git,
    make_branch,
    make_store,
    move,
    open_store,
    outcome,
    read_bytes,
    run,
    state_of,
    subjects,
    write_bytes,
    write_chain,
    write_message,
)

READ = outcome(
    "repository = open_store(path)\nprint(len(repository.list_refs(HEADS)), repository.read(Oid(repository.find_ref(MAIN)))[0])"
)
WRITE = outcome(
    'append(open_store(path), MAIN, lambda tip: write_message(open_store(path), "x" * 50, tip), "append")\nprint("written")'
)
MOVE = outcome(
    'repository = open_store(path)\nmove(repository, (HEADS + "new", None, repository.find_ref(MAIN)))\nprint("moved")'
)


def mount(*words):
    done = subprocess.run(["mount", *words], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.decode()}")


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a file system of a given size; it is unmounted after the test."""
    place = tmp_path / "disk"
    place.mkdir()

    def make(options):
        mount("-t", "tmpfs", "-o", options, "tmpfs", str(place))
        return str(place)

    yield make
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


@pytest.fixture
def read_only(tmp_path):
    """Bind-mount a directory read-only at another path."""
    place = tmp_path / "read-only"
    place.mkdir()

    def show(path):
        mount("--bind", path, str(place))
        mount("-o", "remount,ro,bind", str(place))
        return str(place)

    yield show
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


def refused(output, *words):
    kind, code, message, hint = output.split("|")
    assert (kind, code) == ("inaccessible", "8"), output
    assert all(word in message for word in words), output
    assert hint
    return hint


# A full disk


def fill(place, left):
    """Fill the disk until only this many bytes are free."""
    room = os.statvfs(place)
    filler = os.path.join(place, "filler")
    write_bytes(filler, b"x" * max(room.f_bavail * room.f_frsize - left, 0))
    return filler


def append_text(repository, text):
    append(repository, MAIN, lambda tip: write_message(repository, text, tip), "append")
    return text


def append_until_full(repository):
    """Append until the first failure; return the confirmed messages and the error."""
    confirmed = []
    for number in range(200):
        try:
            confirmed.append(append_text(repository, str(number)))
        except Inaccessible as error:
            return confirmed, error.message
    raise AssertionError("the disk never was full")


@pytest.mark.needs_root
@pytest.mark.parametrize("durable", [True, False])
def test_on_a_full_disk_confirmed_appends_are_stored_and_refused_ones_are_not(small_disk, durable):
    """P2, F-55: append to a disk of 400 kB until it is full, then free space and append again."""
    place = small_disk("size=400k")
    repository = make_store(os.path.join(place, "store.git"), {} if durable else FAST)
    make_branch(repository, "root")
    filler = fill(place, 60_000)
    confirmed, refusal = append_until_full(repository)
    assert "the disk is full" in refusal
    assert subjects(open_store(repository)) == [*confirmed[::-1], "root"]
    assert len(confirmed) > 1
    assert_sound(repository)
    os.unlink(filler)
    append_text(repository, "again")
    assert subjects(open_store(repository))[:2] == ["again", confirmed[-1]]


@pytest.mark.needs_root
def test_an_operation_on_a_full_disk_is_atomic(small_disk):
    """P3, F-55: with every amount of free space from none to enough."""
    place = small_disk("size=1m")
    repository = make_store(os.path.join(place, "store.git"))
    one, two = write_chain(repository, "one", "two")
    move(repository, *((f"{HEADS}b{number}", None, one) for number in range(4)))
    old, new = one, two
    outcomes = set()
    for left in range(0, 100_000, 4096):
        filler = fill(place, left)
        try:
            move(repository, *((f"{HEADS}b{number}", old, new) for number in range(4)))
            happened = True
        except Inaccessible:
            happened = False
        outcomes.add(happened)
        assert set(open_store(repository).list_refs(HEADS).values()) == {new if happened else old}
        os.unlink(filler)
        if happened:
            old, new = new, old
        assert set(open_store(repository).list_refs(HEADS).values()) == {old}
    assert outcomes == {True, False}
    assert_sound(repository)


@pytest.mark.needs_root
def test_a_disk_without_free_inodes_is_reported_as_full(small_disk):
    """F-56."""
    place = small_disk("size=4m,nr_inodes=110")
    repository = make_store(os.path.join(place, "store.git"))
    make_branch(repository, "root")
    confirmed, refusal = append_until_full(repository)
    assert "the disk is full" in refusal
    assert subjects(open_store(repository)) == [*confirmed[::-1], "root"]
    assert len(confirmed) > 1
    assert_sound(repository)


@pytest.mark.needs_root
def test_no_store_is_created_on_a_full_disk(small_disk):
    place = small_disk("size=16k")
    output = run(outcome('create_store(path)\nprint("made")'), os.path.join(place, "store.git"))
    refused(output, "cannot create a store", "the disk is full")
    assert os.listdir(place) == []


@pytest.mark.parametrize("limit", [1, 100, 600])
def test_a_file_size_limit_is_handled_like_a_full_disk(repository, limit):
    """F-58: every file that is written exceeds the limit; needs no root."""
    make_branch(repository, "root")
    git(repository, "pack-refs", "--all")
    before = state_of(repository)
    code = "import resource\nrepository = open_store(path)\nresource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
    text = random.Random(1).randbytes(2000).hex()
    say = f'append(repository, MAIN, lambda tip: write_message(repository, "{text}", tip), "append")'
    code += outcome(f'{say}\nprint("written")')
    refused(run(code, repository.path, limit), "the disk is full")
    assert state_of(repository) == before
    assert_sound(repository)


# A read-only disk, and a disk without read permission


@pytest.mark.needs_root
@pytest.mark.parametrize("packed", [False, True])
def test_a_read_only_store_can_be_read_and_refuses_writes(repository, read_only, packed):
    """F-60."""
    make_branch(repository, "one")
    if packed:
        git(repository, "gc", "-q")
    path = read_only(repository.path)
    before = files_of(path)
    assert run(READ, path) == "1 commit"
    for act in (WRITE, MOVE):
        assert "reading still works" in refused(run(act, path), "Read-only file system")
    assert files_of(path) == before


@pytest.mark.needs_root
def test_a_read_only_store_shows_a_pending_operation_completely(repository, read_only):
    """P3, F-60: readers see its new values although no writer can finish it."""
    (tip,) = make_branch(repository, "one")
    make_branch(repository, "one", ref=HEADS + "two")
    operation = git(repository, "rev-parse", "refs/scopes/operations").strip()
    git(repository, "update-ref", "refs/scopes/operations", f"{operation}^")
    git(repository, "update-ref", "-d", HEADS + "two")
    git(repository, "update-ref", "refs/scopes/pending", operation)
    seen = run("print(sorted(open_store(path).list_refs(HEADS).items()))", read_only(repository.path))
    assert seen == str([(MAIN, tip), (HEADS + "two", tip)])


@pytest.mark.needs_root
@pytest.mark.parametrize(
    ("part", "act", "words"),
    [
        (".", READ, "permission denied"),
        ("config", READ, "permission denied"),
        ("objects", READ, ""),
        ("refs", READ, ""),
        ("refs/heads", READ, "permission denied"),
        (MAIN, READ, "permission denied"),
        ("scopes.lock", WRITE, "Permission denied"),
        ("objects", WRITE, ""),
        ("refs/scopes", MOVE, "permission denied"),
    ],
)
def test_missing_permissions_are_reported(repository, part, act, words):
    """F-61: as a user who is not root."""
    make_branch(repository, "one")
    path = os.path.join(repository.path, part)
    os.chmod(path, 0)
    try:
        output = run(act, repository.path, before=AS_A_MERE_USER)
    finally:
        os.chmod(path, 0o700)
    refused(output, words)
    assert "Traceback" not in output


@pytest.mark.needs_root
@pytest.mark.parametrize("part", [".", "objects", "refs/heads/conv-001", "logs", "logs/refs/heads/conv-001"])
def test_a_failed_write_to_a_read_only_directory_changes_nothing(repository, part):
    """F-61: the ref has not moved, and no partial file is left."""
    make_branch(repository, "one")
    before = state_of(repository)
    path = os.path.join(repository.path, part)
    top = [path] if part != "objects" else [path, *(os.path.join(path, name) for name in os.listdir(path))]
    for directory in top:
        os.chmod(directory, 0o500)
    output = run(WRITE, repository.path, before=AS_A_MERE_USER)
    for directory in top:
        os.chmod(directory, 0o700)
    if output != "written":
        refused(output)
        assert state_of(repository) == before
    assert subjects(repository)[-1] == "one"
    assert_sound(repository)


# A store of another user


@pytest.mark.needs_root
def test_a_store_of_another_user_is_refused_until_it_is_trusted(repository, sealed_world):
    """F-62: libgit2's ownership check stays on, and following the hint makes the store usable."""
    make_branch(repository, "one")
    for top, directories, files in os.walk(repository.path):
        for name in [*directories, *files, "."]:
            os.chown(os.path.join(top, name), 12345, 12345)
    hint = refused(run(READ, repository.path), "belongs to another user")
    command = hint.removeprefix("if you trust it: ")
    assert command.startswith("git config --global --add safe.directory ")
    assert subprocess.run(command.split(), check=True, env={**os.environ, "HOME": str(sealed_world)}).returncode == 0
    assert run(READ, repository.path) == "1 commit"
    assert run(WRITE, repository.path) == "written"
    code = "from scopes.store.maintenance import pack\nrepository = open_store(path)\nwith exclusive_write(repository): pack(repository)"
    assert run(code, repository.path) == ""


# An unusable home directory


def home_directories(tmp_path):
    return {
        "unset": None,
        "gone": os.path.join(tmp_path, "gone"),
        "a file": os.path.join(tmp_path, "file"),
        "closed": os.path.join(tmp_path, "closed"),
        "a closed configuration": os.path.join(tmp_path, "shut"),
        "a directory for a configuration": os.path.join(tmp_path, "odd"),
    }


@pytest.mark.needs_root
@pytest.mark.parametrize("home", sorted(home_directories("/")))
def test_an_unreadable_home_directory_is_ignored(repository, tmp_path, home):
    """F-64, storage pitfall 16."""
    make_branch(repository, "one")
    (tmp_path / "file").write_text("")
    for name in ("closed", "shut", "odd"):
        (tmp_path / name).mkdir()
    (tmp_path / "shut" / ".gitconfig").write_text("[scopes]\n")
    (tmp_path / "odd" / ".gitconfig").mkdir()
    os.chmod(tmp_path / "shut" / ".gitconfig", 0)
    os.chmod(tmp_path / "closed", 0)
    place = home_directories(tmp_path)[home]
    before = [*AS_A_MERE_USER, "env", *(["-u", "HOME"] if place is None else [f"HOME={place}"])]
    output = run("\n".join((READ, WRITE, MOVE)), repository.path, before=before)
    assert output.splitlines() == ["1 commit", "written", "moved"]


def test_a_malformed_configuration_file_is_reported_with_its_line(repository, sealed_world):
    """The user's file or the store's; the store itself is not reported as damaged."""
    make_branch(repository, "one")
    for path in (str(sealed_world / ".gitconfig"), os.path.join(repository.path, "config")):
        sound = b"[scopes]\n" if path.endswith(".gitconfig") else read_bytes(path)
        line = sound.count(b"\n") + 1
        write_bytes(path, sound + b"[core\n")
        kind, code, message, hint = run(READ, repository.path).split("|")
        assert (kind, code, message) == ("corrupt", "7", f"the configuration file {path} is malformed in line {line}")
        assert hint == f"correct it: git config --file {path} --edit"
        write_bytes(path, sound)
    assert run(READ, repository.path) == "1 commit"


# Limits


@pytest.mark.parametrize("limit", [5, 6, 8, 12])
def test_with_few_file_descriptors_a_command_works_or_refuses_cleanly(repository, limit):
    """F-63: `ulimit -n 8`."""
    make_branch(repository, "one")
    code = f"import resource\nrepository = open_store(path)\nresource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))\n"
    code += outcome(
        'append(repository, MAIN, lambda tip: write_message(repository, "two", tip), "append")\nprint("written")'
    )
    output = run(code, repository.path)
    if output != "written":
        refused(output)
    assert subjects(repository) == ["two", "one"][output != "written" :]
    assert_sound(repository)


def test_the_resource_limits_of_the_test_process_are_unchanged(repository):
    """The tests above set limits in subprocesses only."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 100
    assert Process("print(1)", repository.path).finish() == "1"
