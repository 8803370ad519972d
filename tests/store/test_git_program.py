"""The git program runs no command from the configuration of a store."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from scopes.errors import Corrupt, Inaccessible, NotFound, Refused
from scopes.store.git_program import (
    QUARANTINE_PREFIX,
    ReceivedObjects,
    find_git,
    list_abandoned,
    open_quarantine,
    run_git,
)
from scopes.store.objects import BLOB, list_modes
from tests.support.store import (
    assert_sound,
    files_of,
    git,
    loose_path,
    make_branch,
    make_store,
    open_store,
    write_bytes,
)

HOOKS = (
    "reference-transaction",
    "pre-auto-gc",
    "post-update",
    "post-rewrite",
    "update",
    "pre-receive",
    "post-index-change",
)
HARMLESS = (
    ("gc", "--quiet"),
    ("commit-graph", "write", "--reachable"),
    ("pack-refs", "--all"),
    ("update-ref", "refs/heads/x/y", "refs/heads/conv-001/main"),
    ("fsck", "--strict"),
    ("prune",),
    ("log", "-1", "refs/heads/conv-001/main"),
)


@pytest.fixture
def hostile(repository, tmp_path):
    """Configure everything that git can be made to run; all of it would make the file `pwned`."""
    make_branch(repository, *"abcdef")
    sentinel = tmp_path / "pwned"
    touch = f"touch {sentinel};"
    hooks = os.path.join(repository.path, "hooks")
    for name in HOOKS:
        write_bytes(os.path.join(hooks, name), f"#!/bin/sh\n{touch}\n".encode())
        os.chmod(os.path.join(hooks, name), stat.S_IRWXU)
    with open(os.path.join(repository.path, "config"), "a") as file:
        file.write(f"""
[core]
    fsmonitor = {touch} false
    hooksPath = {hooks}
    alternateRefsCommand = {touch} false
    sshCommand = {touch} false
    pager = {touch} cat
    editor = {touch} false
    gitProxy = {touch} false
    askPass = {touch} false
[pager]
    log = {touch} cat
[gpg]
    program = {touch} false
[log]
    showSignature = true
[credential]
    helper = "!{touch}"
[uploadpack]
    packObjectsHook = {touch} false
[diff]
    external = {touch} false
[include]
    path = {tmp_path}/more
[alias]
    gc = "!{touch}"
    prune = "!{touch}"
[protocol]
    allow = always
[protocol "file"]
    allow = always
[protocol "ext"]
    allow = always
[remote "file"]
    url = {tmp_path}
    promisor = true
    partialclonefilter = blob:none
    uploadpack = {touch} git-upload-pack
    fetch = +refs/heads/*:refs/x/*
[remote "ext"]
    url = ext::{touch}
    promisor = true
    fetch = +refs/heads/*:refs/x/*
""")
    write_bytes(tmp_path / "more", f"[core]\n    hooksPath = {hooks}\n    fsmonitor = {touch}\n".encode())
    return repository, sentinel


@pytest.mark.parametrize("arguments", HARMLESS, ids=lambda words: words[0])
@pytest.mark.parametrize("damaged", [False, True])
def test_no_command_of_a_hostile_configuration_runs(hostile, arguments, damaged):
    """P14, I-72; a missing object makes git ask the remote that promises it."""
    repository, sentinel = hostile
    if damaged:
        os.unlink(loose_path(repository, repository.find_ref("refs/heads/conv-001/main")))
    try:
        run_git(repository.path, *arguments)
    except Inaccessible:
        assert damaged
    assert not sentinel.exists()


@pytest.mark.parametrize(
    ("switch", "arguments"),
    [("gc.auto=0", HARMLESS[3]), ("core.hooksPath=/dev/null", HARMLESS[1])],
    ids=["a hook", "a promising remote"],
)
def test_without_the_hardening_options_the_commands_would_run(hostile, switch, arguments):
    """Otherwise the test above would prove nothing."""
    repository, sentinel = hostile
    command = ["git", "-c", switch, f"--git-dir={repository.path}", *arguments]
    if "hooksPath" in switch:
        os.unlink(loose_path(repository, repository.find_ref("refs/heads/conv-001/main")))
    subprocess.run(command, capture_output=True, check=False)
    assert sentinel.exists()


@pytest.mark.parametrize(
    "environment",
    [
        {"GIT_DIR": "/nowhere"},
        {"GIT_OBJECT_DIRECTORY": "/nowhere"},
        {"GIT_INDEX_FILE": "/nowhere"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "garbage"},
        {"GIT_CONFIG_PARAMETERS": "'core.bare'='garbage'"},
        {"GIT_TRACE": "1"},
        {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"},
        {"HOME": "/nowhere", "XDG_CONFIG_HOME": "/nowhere"},
    ],
    ids=lambda names: next(iter(names)),
)
def test_git_variables_of_the_environment_are_ignored(repository, monkeypatch, environment):
    tip = make_branch(repository, "one")[-1]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run_git(repository.path, "rev-parse", "refs/heads/conv-001/main") == f"{tip}\n"


def test_the_git_configuration_of_the_user_is_ignored(repository, sealed_world):
    (sealed_world / ".gitconfig").write_text("[gc]\n\tauto = garbage\n[core\n")
    make_branch(repository, "one")
    run_git(repository.path, "gc", "--quiet")


def test_a_failure_is_reported_with_the_last_line_of_git(repository):
    with pytest.raises(Inaccessible, match=r"git rev-parse failed: .*unknown revision|git rev-parse failed") as caught:
        run_git(repository.path, "rev-parse", "--verify", "nothing")
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 8


def test_a_failure_without_output_is_reported(repository):
    with pytest.raises(Inaccessible, match="git cat-file failed: no message"):
        run_git(repository.path, "cat-file", "-e", "1" * 40)


def test_without_git_the_error_names_what_to_install(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_git() is None
    with pytest.raises(Inaccessible, match="git program is not installed") as caught:
        run_git(repository.path, "gc")
    assert "install git" in caught.value.hint


def test_output_in_another_encoding_is_decoded(repository):
    blob = run_git(repository.path, "hash-object", "-w", "-t", "blob", "/dev/null").strip()
    write_bytes(loose_path(repository, blob) + ".x", b"")
    tip = make_branch(repository, "one")[-1]
    run_git(repository.path, "-c", "i18n.commitEncoding=latin1", "update-ref", "refs/heads/b\udcf6se/x", tip)
    assert "refs/heads/b" in run_git(repository.path, "for-each-ref", "--format=%(refname)")


@pytest.mark.parametrize("entry", [".", "", "tools", "./tools"])
def test_a_git_program_in_the_current_directory_is_not_used(tmp_path, monkeypatch, entry):
    expected = find_git()
    for folder in (tmp_path, tmp_path / "tools"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text("#!/bin/sh\n")
        (folder / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((entry, os.environ["PATH"], entry)))
    assert find_git() == expected
    monkeypatch.setenv("PATH", entry)
    assert find_git() is None


@pytest.fixture
def quarantine(repository):
    """A quarantine of a store that has a message."""
    make_branch(repository, "here")
    with open_quarantine(repository.path, {}) as opened:
        yield opened


@pytest.fixture
def received(repository, quarantine, tmp_path):
    """Objects of another store in the quarantine, as one pack; return them, and the commit that they are of."""
    other = make_store(tmp_path / "other")
    commit = make_branch(other, "from elsewhere")[0]
    names = git(other, "rev-list", "--objects", "--no-object-names", commit)
    git(other, "pack-objects", "-q", os.path.join(quarantine.pack_directory, "pack"), stdin=names.encode())
    return ReceivedObjects(repository, quarantine), commit


def test_git_finds_the_objects_of_the_store_and_the_known_refs(repository):
    tip = make_branch(repository, "a")[0]
    with open_quarantine(repository.path, {"refs/in/origin/x": tip}) as quarantine:
        assert git(quarantine.path, "for-each-ref", "--format=%(refname) %(objectname)") == f"refs/in/origin/x {tip}\n"
        assert git(quarantine.path, "log", "--format=%s", tip) == "a\n"


def test_git_reads_no_configuration_of_the_store(repository, quarantine):
    git(repository, "config", "core.hooksPath", "/evil")
    assert git(quarantine.path, "config", "core.hooksPath").strip() == "/dev/null"


def test_a_quarantine_is_private_and_removed_at_the_end(repository):
    with open_quarantine(repository.path, {}) as quarantine:
        assert os.stat(quarantine.path).st_mode & 0o077 == 0
    assert not [name for name in os.listdir(repository.path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_quarantine_is_removed_after_an_error_too(repository):
    with pytest.raises(Refused), open_quarantine(repository.path, {}):
        raise Refused("no")
    assert not [name for name in os.listdir(repository.path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_quarantine_that_is_used_is_not_abandoned(repository):
    with open_quarantine(repository.path, {}) as quarantine:
        assert list_abandoned(repository.path) == []
        os.unlink(os.path.join(quarantine.path, "lock"))
        assert list_abandoned(repository.path) == [os.path.basename(quarantine.path)]


def test_a_lock_that_is_no_file_keeps_nobody_waiting(repository):
    path = os.path.join(repository.path, f"{QUARANTINE_PREFIX}x")
    os.mkdir(path)
    os.mkfifo(os.path.join(path, "lock"))
    assert list_abandoned(repository.path) == [f"{QUARANTINE_PREFIX}x"]


def test_packs_are_in_the_store_after_they_are_linked(repository, quarantine, received):
    _, commit = received
    assert not repository.has(commit)
    assert quarantine.link_packs(repository.path, durable=True) == 1
    again = open_store(repository)
    assert again.has(commit)
    assert_sound(again)


def test_linking_packs_twice_changes_nothing(repository, quarantine, received):
    quarantine.link_packs(repository.path, durable=False)
    before = files_of(os.path.join(repository.path, "objects"))
    quarantine.link_packs(repository.path, durable=False)
    assert files_of(os.path.join(repository.path, "objects")) == before


def test_received_objects_are_read_together_with_those_of_the_store(repository, received):
    objects, commit = received
    own = repository.find_ref("refs/heads/conv-001/main")
    assert (objects.is_new(commit), objects.is_new(own)) == (True, False)
    assert objects.read(commit)[0] == objects.read(own)[0] == "commit"
    assert commit in objects.new
    with pytest.raises(NotFound):
        objects.read("0" * 40)


def test_what_is_written_stays_in_memory(repository, received):
    objects, _ = received
    oid = objects.write(BLOB, b"in memory")
    assert objects.read(oid) == (BLOB, b"in memory")
    assert list(objects.written) == [oid]
    assert not repository.has(oid)
    assert git(repository, "hash-object", "--stdin", stdin=b"in memory").strip() == oid


def test_a_damaged_pack_is_an_error(repository, quarantine, received):
    (pack,) = quarantine.list_packs()
    os.chmod(f"{pack}.pack", 0o600)
    with open(f"{pack}.pack", "r+b") as file:
        file.seek(12)
        file.write(b"\xff" * 40)
    objects = ReceivedObjects(repository, quarantine)
    with pytest.raises(Corrupt):
        [objects.read(oid) for oid in objects.new]


def test_the_modes_of_a_tree_are_listed_as_they_are_stored():
    entry = b"%s %s\0" + bytes(20)
    assert list_modes(entry % (b"100644", b"a") + entry % (b"120000", b"b")) == {b"100644", b"120000"}
    assert list_modes(b"") == set()
    with pytest.raises(Corrupt):
        list_modes(b"100644 a")
