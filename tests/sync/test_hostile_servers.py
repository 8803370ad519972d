"""Servers that do not answer, send without end, or send other objects than a git server would."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scopes.errors import Corrupt, Inaccessible
from scopes.sync import git_transport
from scopes.sync.git_process import Limits
from tests.support.fake_upload_pack import install
from tests.support.forged_remotes import LINK, Forger
from tests.support.git_servers import serve_http, write_sentinel
from tests.support.history import history
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import files_of, git, state_of


@pytest.fixture
def forger(sent, bare):
    """A remote with a pushed conversation."""
    return Forger(bare)


@pytest.fixture
def serve(forger, tmp_path, monkeypatch):
    """Return a function that makes a store whose remote is a server that sends what it is told."""

    def start(objects=(), fault=""):
        everything = git(forger.bare, "rev-list", "--objects", "--no-object-names", forger.find(forger.ref)).split()
        refs = {forger.ref: forger.find(forger.ref)}
        monkeypatch.setenv("GIT_SSH", install(tmp_path, forger.bare, refs, [*everything, *objects], fault))
        monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
        return machine(tmp_path / "victim", "host.invalid:talks.git")

    return start


def refuse(store, error, match, **options):
    """Fetch and expect a refusal that changes nothing in the store."""
    before = state_of(store)
    with pytest.raises(error, match=match) as caught:
        fetch_from(store, **options)
    assert state_of(store) == before
    assert not [name for name in files_of(store.path) if name.startswith("scopes-incoming")]
    return caught.value


def test_an_honest_server_of_the_first_protocol_is_understood(serve):
    assert [row.status for row in fetch_from(serve()).conversations] == ["new"]


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
def test_an_object_that_belongs_to_no_conversation_is_refused(serve, forger, kind):
    blob = forger.write("blob", b"hidden, for later")
    tree = forger.tree((LINK, b"link", blob))
    hidden = {"blob": [blob], "tree": [blob, tree], "commit": [blob, tree, forger.commit(tree, [], b"x\n")]}[kind]
    refuse(serve(hidden), Corrupt, "belongs to no conversation")


def test_a_tag_that_nobody_asked_for_is_refused(serve, forger):
    tag = f"object {forger.tip}\ntype commit\ntag x\ntagger x <x@y> 1 +0000\n\nx\n"
    refuse(serve([forger.write("tag", tag.encode())]), Corrupt, "is a tag")


@pytest.mark.slow
def test_a_small_pack_that_grows_large_is_refused_before_it_is_read(serve, forger):
    refuse(serve([forger.write("blob", bytes(70 << 20))]), Corrupt, "too large: object [0-9a-f]+ has 70 MiB")


@pytest.mark.parametrize("fault", ["damaged", "cut"])
def test_a_pack_that_is_damaged_is_refused(serve, fault):
    refuse(serve(fault=fault), Inaccessible, "cannot fetch from")


def test_a_server_that_does_not_answer_is_given_up(serve):
    refuse(serve(fault="silent"), Inaccessible, "git took longer than 1 second", limits=Limits(seconds=1))


def test_a_web_server_that_says_nothing_is_given_up(repository, monkeypatch):
    options = [each.replace("lowSpeedTime=120", "lowSpeedTime=1") for each in git_transport._OPTIONS]
    monkeypatch.setattr(git_transport, "_OPTIONS", options)
    ended = threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self):
            ended.wait(30)

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(Inaccessible, match="too slow"):
                add(repository, f"http://127.0.0.1:{server.server_port}/talks.git", probe=True)
        finally:
            ended.set()
            server.shutdown()
            thread.join()


def test_a_server_that_sends_refs_without_end_is_ended_by_the_limit_of_memory(serve):
    limits = Limits(seconds=60, memory_bytes=160 << 20)
    error = refuse(serve(fault="endless"), Inaccessible, "cannot fetch from", limits=limits)
    assert "out of memory" in error.message.lower() or "unexpected disconnect" in error.message


def test_a_pack_that_is_larger_than_the_limit_of_files_is_refused(serve, forger):
    large = forger.write("blob", os.urandom(3 << 20))
    refuse(serve([large]), Inaccessible, "cannot fetch from", limits=Limits(file_bytes=1 << 20))


def test_what_a_server_says_is_shown_without_escapes_and_secrets(serve):
    error = refuse(serve(fault="chatter"), Inaccessible, "owned")
    assert "\x1b" not in error.message
    assert "ghp_" not in error.message


@pytest.mark.parametrize("address", ["ext::sh -c 'touch {}'", "file:///x", "fd::7"])
def test_an_address_that_the_users_configuration_rewrites_runs_nothing(ours, tmp_path, monkeypatch, address):
    sentinel, config = tmp_path / "ran", tmp_path / "gitconfig"
    target = address.format(sentinel)
    config.write_text(
        f'[url "{target}"]\n\tinsteadOf = https://good.invalid/talks.git\n[protocol "ext"]\n\tallow = always\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    add(ours, "https://good.invalid/talks.git", "web")
    for act in (push_to, fetch_from):
        with pytest.raises(Inaccessible):
            act(ours, remote="web")
    assert not sentinel.exists()


def test_variables_of_the_environment_do_not_move_git_elsewhere(ours, bare, tmp_path, monkeypatch):
    program = write_sentinel(tmp_path / "program", tmp_path / "ran")
    other = make_bare(tmp_path / "other.git")
    for name, value in {
        "GIT_DIR": other, "GIT_OBJECT_DIRECTORY": f"{other}/objects", "GIT_EXEC_PATH": str(tmp_path),
        "GIT_EXTERNAL_DIFF": program, "GIT_PROXY_COMMAND": program, "GIT_CONFIG_COUNT": "1", "GIT_TRACE2_PERF": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": str(tmp_path), "GIT_ALLOW_PROTOCOL": "ext",
        "GIT_NAMESPACE": "x", "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{other}/objects", "GIT_CONFIG_PARAMETERS": "'a.b=c'",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert [row.status for row in push_to(ours).conversations] == ["new"]
    for name in list(os.environ):
        if name.startswith("GIT_") and name not in {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}:
            monkeypatch.delenv(name)
    assert git(bare, "for-each-ref")
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def hooked(tmp_path):
    """A repository behind a web server whose hook refuses what contains a word."""
    path = make_bare(tmp_path / "served" / "talks.git")
    git(path, "config", "http.receivepack", "true")
    hook = tmp_path / "served" / "talks.git" / "hooks" / "pre-receive"
    hook.write_text(
        "#!/bin/sh\nwhile read old new ref; do git cat-file -p $new:manifest.json | grep -q Friday && {\n"
        "printf 'no \\033[31mtalks\\033[0m about Friday\\n' >&2; exit 1; }; done\nexit 0\n"
    )
    hook.chmod(0o755)
    return tmp_path / "served"


def test_a_batch_that_a_hook_refuses_is_halved_down_to_the_conversation(ours, hooked):
    from scopes.conversation.new_rename_delete import rename_title

    for number in range(2, 5):
        history(ours, "main: x")
        rename_title(ours, f"conv-{number:03d}", "Friday" if number == 3 else "Monday")
    with serve_http(hooked) as server:
        add(ours, f"{server.address}/talks.git", "web")
        rows = {row.conversation: row for row in push_to(ours, remote="web").conversations}
        assert {name for name, row in rows.items() if row.status == "refused"} == {"conv-003"}
        assert "talks" in rows["conv-003"].reason
        assert "\x1b" not in rows["conv-003"].reason
        server.requests.clear()
        again = push_to(ours, remote="web")
    assert [row.conversation for row in again.conversations] == ["conv-003"]
    assert again.unchanged == 3
