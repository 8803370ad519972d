"""Real agents from npm for the tests marked `realagents`: their programs, and a model server for them.

The fixtures are imported by the tests, which are in several packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.stub_model import StubModel

PACKAGES = (
    "@openai/codex@0.169.0",
    "opencode-ai@1.18.33",
    "@google/gemini-cli@0.61.0",
    "@qwen-code/qwen-code@0.15.10",
    "@mariozechner/pi-coding-agent@0.73.1",
    "@agentclientprotocol/codex-acp@2.6.0",
    "@modelcontextprotocol/inspector@0.15.0",
)

LLM = "llm==0.36"


@pytest.fixture(scope="session")
def programs():
    """Install the agents and the inspector of MCP servers, and return the directory of their programs."""
    folder = os.environ.get("SCOPES_TEST_AGENTS")
    if folder is None or shutil.which("npm") is None:
        pytest.skip("SCOPES_TEST_AGENTS names no directory, or there is no npm")
    names = [package.rpartition("@")[0] for package in PACKAGES]
    if not all((Path(folder) / "node_modules" / name).is_dir() for name in names):
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, *PACKAGES]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return Path(folder) / "node_modules/.bin"


@pytest.fixture(scope="session")
def llm_programs(programs):
    """Install llm from PyPI beside the agents, and return the directory of its program."""
    folder = programs.parent.parent / "llm"
    if not (folder / "bin" / "llm").is_file():
        venv.create(folder, with_pip=True)
        install = [str(folder / "bin" / "pip"), "install", "--quiet", LLM]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return folder / "bin"


@pytest.fixture
def model():
    server = StubModel()
    yield server
    server.close()
