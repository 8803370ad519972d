"""What to do about a remote that cannot be reached depends on the cause, and so does whether to try again."""

from __future__ import annotations

import json
import os
import random
import socket
import string

import pytest

from scopes.errors import Inaccessible, NotFound
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote
from scopes.sync.failure_causes import UNKNOWN, find_cause
from tests.cli.running import PRODUCT, scopes
from tests.support.git_servers import PASSWORD, serve_http, write_credential_helper
from tests.support.history import say
from tests.support.remotes import add, clone_to, connection, fetch_from, make_bare, push_to
from tests.support.store import git


def random_text(length):
    return "".join(random.Random(1).choices(string.ascii_letters, k=length))


@pytest.mark.parametrize(
    ("written", "words", "retryable"),
    [
        ("error: Cannot access URL x, return code 22\nfatal: git-http-push failed", "takes no pushes", False),
        ("fatal: unable to access 'https://h/x/': Could not resolve host: h", "DNS", True),
        ("ssh: Could not resolve hostname h: Name or service not known\nfatal: Could not read", "DNS", True),
        ("fatal: unable to look up h (port 9418) (Name or service not known)", "DNS", True),
        ("ssh: connect to host h port 22: Connection refused\nfatal: Could not read", "whether the server runs", True),
        ("Failed to connect to h port 443 after 0 ms: Couldn't connect to server", "whether the server runs", True),
        ("Failed to connect to h port 443 after 9 ms: Connection timed out", "VPN and proxy", True),
        ("ssh: connect to host h port 22: No route to host", "no way to the host", True),
        ("SSL certificate problem: self-signed certificate", "http.sslCAInfo", False),
        ("server certificate verification failed. CAfile: none CRLfile: none", "http.sslCAInfo", False),
        ("gnutls_handshake() failed: TLS packet with unexpected length", "encrypted", True),
        ("fatal: Authentication failed for 'https://h/x/'", "credential.helper", False),
        ("could not read Username for 'https://h': terminal prompts disabled", "credential.helper", False),
        ("The requested URL returned error: 403", "the right to write", False),
        ("remote: Permission to team/talks.git denied to carol.", "the right to write", False),
        ("fatal: remote error: access denied or repository not exported: /x", "git-daemon-export-ok", False),
        ("git@h: Permission denied (publickey).\nfatal: Could not read", "ssh-add", False),
        ("Host key verification failed.\nfatal: Could not read from remote", "accept it", False),
        ("fatal: mismatched algorithms: client sha1; server sha256", "SHA-256", False),
        ("receiving end does not support this repository's hash algorithm\nhung up unexpectedly", "SHA-256", False),
        ("fatal: repository 'https://h/x/' not found", "path in the address", False),
        ("error: RPC failed; HTTP 502\nThe requested URL returned error: 502", "try again later", True),
        (
            "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\nhung up",
            "raise the limit",
            False,
        ),
        ("remote: fatal: cannot write: No space left on device\nerror: unpack failed", "disk of the server", False),
        ("fatal: write error: No space left on device\nfatal: early EOF", "a disk is full", False),
        ("remote: ERROR: You are not allowed to push code to this project.\nfatal: Could not", "right to write", False),
        ("fatal: transport 'file' not allowed", "'^protocol'", False),
        ("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output", "connection was lost", True),
    ],
)
def test_each_cause_has_a_hint_of_its_own(written, words, retryable):
    cause = find_cause(written, "https://h/x")
    assert words in cause.hint
    assert cause.retryable is retryable


def test_a_cause_that_nobody_knows_is_not_guessed():
    assert find_cause("fatal: something else", "") == UNKNOWN


def test_the_words_of_an_address_are_no_cause():
    address = "https://certificate.example/timed-out/SSL.git"
    assert find_cause(f"fatal: unable to access '{address}/': Could not resolve host", address).retryable
    assert find_cause(f"fatal: '{address}' is odd", address) == UNKNOWN


def test_every_hint_says_something_else():
    hints = {
        find_cause(text, "").hint
        for text in ("DNS in name resolution", "Connection refused", "timed out", "error: 401")
    }
    assert len(hints) == 4
    assert UNKNOWN.hint not in hints


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_where_nobody_listens_it_may_help_to_try_again(ours, monkeypatch, scheme):
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -F /dev/null -o BatchMode=yes")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # it does not listen
        add(ours, f"{scheme}://127.0.0.1:{taken.getsockname()[1]}/talks.git", "away")
        for act in (push_to, fetch_from):
            with pytest.raises(Inaccessible, match=r"127\.0\.0\.1") as caught:
                act(ours, remote="away")
            assert caught.value.retryable
            assert "whether the server runs" in caught.value.hint


def test_a_refused_login_names_the_credential_helper(ours, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", write_credential_helper(tmp_path / "helper"))
    make_bare(tmp_path / "served" / "talks.git")
    with serve_http(tmp_path / "served", f"not {PASSWORD}") as server:
        add(ours, f"{server.address}/talks.git", "web")
        with pytest.raises(Inaccessible) as caught:
            fetch_from(ours, remote="web")
    assert "git config credential.helper" in caught.value.hint
    assert not caught.value.retryable


def test_a_server_with_a_limit_of_size_is_named_as_such(ours, tmp_path):
    """As nginx does with client_max_body_size: no try again helps."""
    make_bare(tmp_path / "served" / "talks.git")
    with serve_http(tmp_path / "served") as server:
        server.largest = 3000
        add(ours, f"{server.address}/talks.git", "web")
        assert push_to(ours, remote="web").exit_code == 0
        say(ours, "conv-001", random_text(20_000))
        with pytest.raises(Inaccessible) as caught:
            push_to(ours, remote="web")
    assert "raise the limit" in caught.value.hint
    assert not caught.value.retryable


@pytest.mark.parametrize("setting", ["protocol.file.allow", "protocol.allow"])
def test_what_the_configuration_of_git_forbids_is_not_reached(ours, bare, tmp_path, monkeypatch, setting):
    push_to(ours)
    git(tmp_path, "config", "--file", str(tmp_path / "policy"), setting, "never")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "policy"))
    for act in (push_to, fetch_from):
        say(ours, "conv-001", "news")
        with pytest.raises(Inaccessible, match="transport 'file' not allowed") as caught:
            act(ours)
        assert "'^protocol'" in caught.value.hint
    git(tmp_path, "config", "--file", str(tmp_path / "policy"), "protocol.file.allow", "always")
    assert push_to(ours).exit_code == 0


def test_what_the_configuration_allows_more_is_not_used(ours, bare, tmp_path, monkeypatch):
    sentinel = tmp_path / "ran"
    git(tmp_path, "config", "--file", str(tmp_path / "policy"), "protocol.allow", "always")
    git(tmp_path, "config", "--file", str(tmp_path / "policy"), f"url.ext::touch {sentinel} #.insteadOf", bare)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "policy"))
    with pytest.raises(Inaccessible, match="transport 'ext' not allowed"):
        fetch_from(ours)
    assert not sentinel.exists()


def test_a_repository_with_sha256_ids_is_named_as_such(ours, tmp_path):
    path = str(tmp_path / "long.git")
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", path)
    added = add_remote(ours, "long", parse_address(path), connection())
    assert "SHA-256" in added.notes[0].hint
    assert "right to write" not in added.notes[0].hint
    with pytest.raises(Inaccessible) as caught:
        push_to(ours, remote="long")
    assert "--object-format=sha1" in caught.value.hint


def test_programs_read_whether_to_try_again(tmp_path):
    def run(*words):
        return scopes("--store", str(tmp_path / "a"), *words, table=PRODUCT, cwd=str(tmp_path))

    run("new")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        run("remote", "add", "away", f"http://127.0.0.1:{taken.getsockname()[1]}/talks.git")
        done = run("push", "--all", "--json")
    assert done.returncode == Inaccessible.exit_code
    assert json.loads(done.stderr)["error"]["retryable"] is True
    assert os.listdir(tmp_path / "a") != []


def test_a_failed_clone_leaves_an_empty_directory_that_was_there(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    target.chmod(0o750)
    with pytest.raises(NotFound):
        clone_to(target, str(tmp_path / "nothing.git"))
    assert [*target.iterdir()] == []
    assert target.stat().st_mode & 0o777 == 0o750
    with pytest.raises(NotFound):
        clone_to(tmp_path / "new", str(tmp_path / "nothing.git"))
    assert not (tmp_path / "new").exists()
