"""`scopes mcp --http`: the address and a new token are its output; a port that is taken is an error like any other."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("mcp")

import httpx2

from scopes.errors import Inaccessible, Refused
from scopes.server.mcp import http
from tests.cli.running import PRODUCT, scopes
from tests.server.mcp.conftest import TOKEN
from tests.support.mcp_client import start
from tests.support.store import make_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store").path


@pytest.fixture
def taken():
    """A port of the loopback interface on which somebody listens."""
    with socket.create_server((http.HOST, 0)) as other:
        yield other.getsockname()[1]


@contextmanager
def serving(store, *options, **variables):
    """Run a server, and yield it when it has printed where it is."""
    server = start(f"--store={store}", *options, "mcp", "--http", "0", **variables)
    try:
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.close()


def knock(address, token):
    """Return the status of a request that is no valid one: 401 without the token."""
    return httpx2.post(address, headers={"Authorization": f"Bearer {token}"}, json={}).status_code


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_address_and_new_token_are_printed(store, options):
    """With --quiet too: without the token nobody could connect."""
    with serving(store, *options) as server:
        address, token = server.stdout.readline().decode().rstrip("\n").split("\t")
        assert (knock(address, token) != 401, knock(address, "wrong")) == (True, 401)


def test_address_and_new_token_are_json_on_request(store):
    with serving(store, "--json") as server:
        found = json.loads(server.stdout.readline().decode())
        assert (found["kind"], knock(found["address"], found["token"]) != 401) == ("mcp-server", True)


def test_in_a_pipe_the_token_is_the_second_column_and_empty_if_it_is_known(store):
    with serving(store, SCOPES_MCP_TOKEN=TOKEN) as server:
        address, token = server.stdout.readline().decode().rstrip("\n").split("\t")
        assert (knock(address, TOKEN) != 401, token) == (True, "")
    with serving(store, "--format", "{token}") as server:
        assert len(server.stdout.readline().decode().strip()) > 40


def test_a_known_token_is_not_printed(store):
    with serving(store, "--json", SCOPES_MCP_TOKEN=TOKEN) as server:
        found = json.loads(server.stdout.readline().decode())
        assert "token" not in found
        assert knock(found["address"], TOKEN) != 401


def test_a_port_that_is_taken_is_refused(store, taken):
    done = scopes("--store", store, "mcp", "--http", str(taken), table=PRODUCT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: another process has port {taken} of 127.0.0.1\nhint: choose another port, or --http 0 for a free one\n"
    )


def test_a_port_that_is_taken_is_one_object_with_json(store, taken):
    done = scopes("--store", store, "mcp", "--http", str(taken), "--json", table=PRODUCT)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["kind"], done.stdout) == (1, "refused", "")


def test_a_port_is_free_again_when_its_server_has_ended():
    with http.listen(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(Refused, match=f"another process has port {port}"):
            http.listen(port)
    with http.listen(port) as second:
        assert second.getsockname() == ("127.0.0.1", port)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every port")
def test_a_port_of_the_system_is_inaccessible():
    with pytest.raises(Inaccessible, match="cannot listen on port 1 of"):
        http.listen(1)


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_what_is_no_port_is_refused(store, port):
    done = scopes("--store", store, "mcp", f"--http={port}", table=PRODUCT)
    assert (done.returncode, f"{port} is not a port" in done.stderr) == (2, True)


@pytest.mark.parametrize("token", ["short", "ä" * 20, "with a\ttab in it, long"])
def test_a_weak_token_is_refused_with_its_cure(store, token):
    done = scopes("--store", store, "mcp", "--http", "0", table=PRODUCT, env={"SCOPES_MCP_TOKEN": token})
    assert (done.returncode, "hint: set a longer token, or unset it" in done.stderr) == (2, True)


def test_the_author_of_as_is_checked_as_everywhere(store):
    done = scopes("--store", store, "mcp", "--as", "bad\nname", table=PRODUCT)
    assert (done.returncode, "is not a valid author name" in done.stderr) == (2, True)


def test_a_term_signal_ends_the_server_with_0(store):
    with serving(store) as server:
        server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        assert (server.wait(30), server.stdout.read()) == (0, b"")


def test_a_term_signal_before_the_server_serves_ends_it_with_0(store):
    program = (
        "import signal, sys\n"
        "from scopes.server.mcp.access import StoreAccess\n"
        "from scopes.server.mcp.http import run_http\n"
        "run_http(StoreAccess(sys.argv[1]), 0, 'a long enough token', lambda _: signal.raise_signal(signal.SIGTERM))\n"
        "print('ended')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, store], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
