"""A real disk that is full or read-only, limits, closed pipes and signals: nothing acknowledged is lost, nothing hangs."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.store.repository import create_store, open_repository
from tests.faults.processes import COMMAND, WRITER, assert_sound, finish, read_texts, scopes, start
from tests.faults.sandbox import ROOT
from tests.support.fork_server import run_program

AS_A_MERE_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--")
FULL, INTERRUPTED, BROKEN_PIPE = 8, 130, 141
DRIVER = """
import sys
from scopes.cli.main import main
for number in range(100_000):
    code = main(["conv", "append", "conv-001", f"{number} " + "x" * 3000, "--json"])
    if code != 0:
        sys.exit(code)
"""
LINES = """
import json, sys
for number in range(100_000):
    print(json.dumps({"author": "carol", "text": str(number)}), flush=True)
"""
IMPORTER = """
import sys, time
from scopes.store import packs as bulk
original = bulk.BulkObjects.write
def write(self, kind, data):
    print("writing", flush=True)
    time.sleep(0.01)
    return original(self, kind, data)
bulk.BulkObjects.write = write
from scopes.cli.main import main
sys.exit(main(["conv", "import", "--sample"]))
"""


def run(store: str, *arguments: str, before=(), limit=None, **streams) -> subprocess.CompletedProcess:
    """Run a command and return its outcome; `limit` is the largest file it may write, in bytes."""

    def narrow():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a child of a shell would get an error

    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    environment = {**os.environ, "PYTHONPATH": ROOT, "SCOPES_STORE": store}
    if not before and limit is None:
        return run_program(COMMAND, arguments, environment, **streams)
    command = [*before, sys.executable, "-B", "-c", COMMAND, *arguments]
    return subprocess.run(command, env=environment, text=True, check=False, timeout=60, preexec_fn=narrow, **streams)


@pytest.fixture
def mount(tmp_path):
    """Mount a small file system in memory and return its path."""
    mounted = []

    def make(options: str) -> str:
        path = tmp_path / f"disk{len(mounted)}"
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
        mounted.append(path)
        return str(path)

    yield make
    for path in mounted:
        subprocess.run(["umount", path], check=True)


@pytest.fixture
def store(tmp_path):
    """Make a store with a conversation of three messages."""
    path = str(tmp_path / "store.git")
    create_store(path)
    new(open_repository(path))
    finish([start(WRITER, path, "kept", 3)])
    return path


def fill(store: str) -> tuple[list[str], str]:
    """Append until it fails; return the acknowledged ids and the failure's text."""
    process = start(DRIVER, environment={"SCOPES_STORE": store})
    out, err = process.communicate(timeout=120)
    assert process.returncode == FULL, err
    assert "Traceback" not in err
    return [json.loads(line)["id"] for line in out.splitlines()], err


@pytest.mark.needs_root
@pytest.mark.parametrize("size", ["size=400k", "size=4m,nr_inodes=120"])
def test_a_full_disk_is_reported_and_acknowledged_messages_are_kept(mount, size):
    """P2, F-55 and F-56: bytes and inodes."""
    disk = mount(size)
    store = f"{disk}/store.git"
    ballast = f"{disk}/ballast"
    with open(ballast, "wb") as file:
        file.write(bytes(40_000))
    for number in range(10):
        open(f"{ballast}{number}", "wb").close()
    scopes(store, "conv", "new")
    acknowledged, complaint = fill(store)
    assert acknowledged
    assert "the disk is full" in complaint
    listed = scopes(store, "conv", "log", "conv-001", "--json").splitlines()
    assert [json.loads(line)["id"] for line in listed] == acknowledged[::-1]
    for name in os.listdir(disk):
        if name.startswith("ballast"):
            os.unlink(f"{disk}/{name}")
    scopes(store, "conv", "append", "conv-001", "there is room again")
    assert len(read_texts(open_repository(store), "conv-001")) == len(acknowledged) + 1
    assert_sound(store)


def test_a_file_size_limit_is_reported_with_the_exit_code_of_a_full_disk(store):
    """F-58: EFBIG from `ulimit -f`."""
    done = run(store, "conv", "append", "conv-001", "y" + os.urandom(40_000).hex(), limit=4096)
    assert (done.returncode, done.stdout) == (FULL, "")
    assert "a limit on the size of files" in done.stderr
    assert len(read_texts(open_repository(store), "conv-001")) == 3
    scopes(store, "conv", "append", "conv-001", "small")
    assert_sound(store)


@pytest.mark.parametrize("words", [["conv", "log", "conv-001"], ["conv", "append", "conv-001", "hello"]])
def test_output_to_a_full_device_is_an_error_without_a_traceback(store, words):
    """P12: the error reports what was recorded before."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(store, *words, stdout=full)
    assert done.returncode == FULL
    assert "Traceback" not in done.stderr
    assert ("recorded" in done.stderr) == ("append" in words)


def test_a_command_ends_silently_if_its_reader_closes_the_pipe(store):
    """P12: `| head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    done = run(store, "conv", "log", "conv-001", stdout=writing)
    os.close(writing)
    assert done.returncode in {BROKEN_PIPE, 0}
    assert done.stderr == ""


def test_a_log_piped_into_head_prints_no_error(store):
    """P12: the same with a real `head`."""
    command = [sys.executable, "-c", COMMAND, "conv", "log", "conv-001"]
    environment = {**os.environ, "PYTHONPATH": ROOT, "SCOPES_STORE": store}
    log = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    head = subprocess.run(["head", "-n", "1"], stdin=log.stdout, capture_output=True, text=True, check=True)
    log.stdout.close()
    assert head.stdout
    assert log.stderr.read() == b""
    assert log.wait() in {0, BROKEN_PIPE}
    log.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.sweep  # when a signal arrives depends on the load of the machine
def test_a_signal_during_many_appends_keeps_every_acknowledged_message(store, number):
    """P12: one at a time is read, recorded, acknowledged."""
    feeder = start(LINES)
    command = [sys.executable, "-c", COMMAND, "conv", "append", "conv-001", "--jsonl", "-", "--json"]
    environment = {**os.environ, "PYTHONPATH": ROOT, "SCOPES_STORE": store}
    append = subprocess.Popen(
        command, env=environment, stdin=feeder.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    acknowledged = [append.stdout.readline() for _ in range(5)]
    append.send_signal(number)
    out, err = append.communicate(timeout=30)
    feeder.kill()
    feeder.communicate()
    acknowledged += out.splitlines()
    texts = read_texts(open_repository(store), "conv-001")[3:]
    assert texts == [str(place) for place in range(len(texts))]
    assert len(acknowledged) <= len(texts) <= len(acknowledged) + 1
    assert "Traceback" not in err
    assert append.returncode == (INTERRUPTED if number == signal.SIGINT else -signal.SIGTERM)
    scopes(store, "conv", "append", "conv-001", "and on")
    assert_sound(store)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_import_of_one_session_stopped_by_a_signal_leaves_nothing(store, number):
    """P3, P12: the unfinished pack is removed, now or by the next gc."""
    importing = start(IMPORTER, environment={"SCOPES_STORE": store})
    for _ in range(20):
        assert importing.stdout.readline() == "writing\n"
    importing.send_signal(number)
    _, err = importing.communicate(timeout=30)
    assert importing.returncode == (INTERRUPTED if number == signal.SIGINT else -number)
    assert "Traceback" not in err
    nothing = "error: interrupted: nothing was imported\nhint: no session was whole yet; repeat the command"
    assert (nothing in err) == (number == signal.SIGINT)
    listed = json.loads(scopes(store, "conv", "list", "--json"))
    assert [entry["id"] for entry in listed["conversations"]] == ["conv-001"]
    scopes(store, "gc")
    assert [name for name in os.listdir(f"{store}/objects/pack") if name.startswith("tmp_")] == []
    scopes(store, "conv", "import", "--sample")
    assert_sound(store)


@pytest.mark.needs_root
def test_a_read_only_file_system_can_be_read(mount, store):
    """F-60: reading commands work, writing ones are refused with the reason."""
    disk = mount("size=4m")
    subprocess.run(["cp", "-a", store, f"{disk}/store.git"], check=True)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    readable = f"{disk}/store.git"
    for words in (
        "conv list",
        "conv show conv-001",
        "conv log conv-001",
        "conv cat conv-001",
        "conv stats conv-001",
        "verify",
    ):
        done = run(readable, *words.split())
        assert (done.returncode, done.stderr) == (0, ""), words
    for words in ("conv append conv-001 text", "conv new", "gc"):
        done = run(readable, *words.split())
        assert done.returncode == FULL, words
        assert "read-only" in done.stderr.lower()
        assert len(done.stderr.splitlines()) <= 2


@pytest.mark.needs_root
def test_a_store_without_write_permission_can_be_read_and_refuses_writes(store):
    """F-61: file permissions, as a user other than root."""
    for top, directories, files in os.walk(store):
        for name in (*directories, *files):
            os.chmod(os.path.join(top, name), 0o500 if name in directories else 0o400)
    os.chmod(store, 0o500)
    done = run(store, "conv", "log", "conv-001", before=AS_A_MERE_USER)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(store, "conv", "append", "conv-001", "text", before=AS_A_MERE_USER)
    assert done.returncode == FULL
    assert "permission denied" in done.stderr.lower()


def test_a_waiting_command_can_be_interrupted(store):
    """P12: waiting for the lock can be interrupted."""
    holder = start(
        "import sys, time; from scopes.store.locks import StoreLock\n"
        "with StoreLock(sys.argv[1]).exclusive():\n    print('held', flush=True); time.sleep(60)",
        store,
    )
    assert holder.stdout.readline() == "held\n"
    waiting = start(COMMAND, "conv", "append", "conv-001", "never", environment={"SCOPES_STORE": store})
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=0.7)
    began = time.monotonic()
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=10)
    holder.kill()
    holder.communicate()
    assert waiting.returncode == INTERRUPTED
    assert "Traceback" not in err
    assert time.monotonic() - began < 5
    assert len(read_texts(open_repository(store), "conv-001")) == 3
