"""`scopes conv import`, the whole command."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes

RECORD = '{"messages": [{"role": "user", "content": "How much is tea?"}, {"role": "assistant", "content": "Four."}]}\n'


@pytest.fixture
def place(tmp_path):
    """A home whose histories hold a transcript and a link to one elsewhere."""
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    (projects / "run.jsonl").write_text(RECORD)
    (tmp_path / "elsewhere.jsonl").write_text(RECORD.replace("Four", "Five"))
    (projects / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    return tmp_path


def warnings(place, *words):
    """Import and return the warnings of the answer."""
    home = {"HOME": str(place), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    line = ("--store", str(place / "store.git"), "conv", "import", *words, "--json")
    return json.loads(scopes(*line, table=PRODUCT, env=home).stdout)["warnings"]


def test_a_link_that_leads_out_of_a_folder_is_told_in_the_answer(place):
    """Architecture: what was left out is part of the result."""
    (found,) = warnings(place, str(place / ".claude"))
    assert found == f"{place}/.claude/projects/link.jsonl leads out of the folder and was not followed"


def test_a_link_in_a_standard_place_is_told_too(place):
    (found,) = warnings(place, "--dry-run")
    assert "link.jsonl leads out" in found
