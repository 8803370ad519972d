"""`scopes verify --source`, the whole command."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import PRODUCT, scopes

RECORD = '{"messages": [{"role": "user", "content": "How much is tea?"}, {"role": "assistant", "content": "Four."}]}\n'


@pytest.fixture
def place(tmp_path):
    """A folder with a transcript that was imported into the store beside it."""
    (tmp_path / "run.jsonl").write_text(RECORD)
    done = run(tmp_path, "conv", "import", "run.jsonl", "--report", "--json")
    assert json.loads(done.stdout)["sources"][0]["account_bytes"]["sum"] == len(RECORD)
    assert json.loads(done.stdout)["sources"][0]["whole"] is True
    return tmp_path


def run(place, *words):
    """Run scopes in a folder, on a store of its own."""
    return scopes("--store", str(place / "store.git"), *words, table=PRODUCT, cwd=place)


def test_a_complete_transcript_exits_with_0(place):
    done = run(place, "verify", "--source", "run.jsonl", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["kind"], found["whole"]) == (0, "", "certificate", True)
    assert found["account_bytes"]["sum"] == found["size_bytes"] == os.path.getsize(place / "run.jsonl")


def test_a_transcript_that_has_grown_exits_with_1(place):
    (place / "run.jsonl").write_text(RECORD * 2)
    done = run(place, "verify", "--source", "run.jsonl")
    assert (done.returncode, "comparison\tgrown\n" in done.stdout, "whole\tno\n" in done.stdout) == (1, True, True)
    assert f"new_bytes\t{len(RECORD)}\n" in done.stdout


def test_a_transcript_that_was_not_imported_exits_with_4(place):
    (place / "other.jsonl").write_text(RECORD.replace("Four", "Five"))
    done = run(place, "verify", "--source", "other.jsonl", "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, error["kind"]) == (4, "", "not-found")
    assert error["hint"] == "import it with: scopes conv import other.jsonl"


def test_without_a_source_the_store_is_checked(place):
    assert json.loads(run(place, "verify", "--json").stdout)["kind"] == "verification"
