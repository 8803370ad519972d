"""Messages and operations have different ids, as everywhere else; tests that only read share one server on HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from scopes import clock
from tests.support.random_ids import hashed_counter
from tests.support.store import ROOT, make_store

TOKEN = "a-token-of-the-test-suite"


class HttpServer(NamedTuple):
    """A server on the loopback interface: its address, and its store."""

    address: str
    store: Path


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture(scope="session")
def http_server(tmp_path_factory):
    """A server whose token is TOKEN; to start one for each test takes a second each."""
    directory = tmp_path_factory.mktemp("http")
    store = make_store(directory / "store").path
    words = [sys.executable, "-m", "scopes", f"--store={store}", "mcp", "--http", "0"]
    environment = {**os.environ, "HOME": str(directory), "SCOPES_MCP_TOKEN": TOKEN}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(words, cwd=ROOT, env=environment, text=True, **pipes) as server:
        try:
            yield HttpServer(re.search(r"http://127\.0\.0\.1:\d+/mcp", server.stdout.readline())[0], store)
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture
def address(http_server):
    return http_server.address
