"""`scopes verify FILE`: output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.cli.running import PRODUCT, scopes

RECORD = '{"messages": [{"role": "user", "content": "How much is tea?"}, {"role": "assistant", "content": "Four."}]}\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with a store and a transcript that was imported into it."""
    (tmp_path / "run.jsonl").write_text(RECORD)
    done = run(tmp_path, "conv", "import", "run.jsonl", "--report", "--json")
    assert json.loads(done.stdout)["sources"][0]["account_bytes"]["sum"] == len(RECORD)
    assert json.loads(done.stdout)["sources"][0]["whole"] is True
    return tmp_path


def run(folder, *words):
    """Run scopes in a folder, on a store of its own."""
    return scopes("--store", str(folder / "store.git"), *words, table=PRODUCT, cwd=folder)


def test_a_complete_transcript_exits_with_0(folder):
    done = run(folder, "verify", "run.jsonl", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["kind"], found["whole"]) == (0, "", "certificate", True)
    assert found["account_bytes"]["sum"] == found["size_bytes"] == os.path.getsize(folder / "run.jsonl")


def test_a_transcript_that_has_grown_exits_with_1(folder):
    (folder / "run.jsonl").write_text(RECORD * 2)
    done = run(folder, "verify", "run.jsonl")
    assert (done.returncode, "comparison\tgrown\n" in done.stdout, "whole\tno\n" in done.stdout) == (1, True, True)
    assert f"new_bytes\t{len(RECORD)}\n" in done.stdout


def test_a_transcript_that_was_not_imported_exits_with_4(folder):
    (folder / "other.jsonl").write_text(RECORD.replace("Four", "Five"))
    done = run(folder, "verify", "other.jsonl", "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, error["kind"]) == (4, "", "not-found")
    assert error["hint"] == "import it with: scopes import other.jsonl"


def test_without_a_source_the_store_is_checked(folder):
    assert json.loads(run(folder, "verify", "--json").stdout)["kind"] == "verification"


def test_a_damaged_fact_and_a_damaged_agent_exit_with_7(folder):
    """They were found by no command: lists left them out."""
    run(folder, "agents", "register", "ann")
    run(folder, "facts", "propose", "conv-001", "Seeds", "slow", "--data", '{"id": "s"}')
    run(folder, "facts", "accept", "conv-001", "s")
    assert run(folder, "verify").returncode == 0
    for ref, end in (("refs/scopes/facts", "/s="), ("refs/scopes/agents", "agents/000001.json")):
        damage(folder / "store.git", ref, end)
    done = run(folder, "verify")
    assert (done.returncode, done.stdout.count("error\trefs/scopes/")) == (7, 2)
    assert "facts cannot be read" in run(folder, "facts", "list").stderr


def damage(store, ref, end):
    """Replace the file of a ref whose path ends so, with plain git."""

    def git(*words, data=b"", index=store / "damage.index"):
        environ = {**os.environ, "GIT_INDEX_FILE": str(index)}
        command = ["git", "-C", str(store), "-c", "user.name=x", "-c", "user.email=x", *words]
        return subprocess.run(command, input=data, env=environ, check=True, capture_output=True).stdout.decode().strip()

    (path,) = [name for name in git("ls-tree", "-r", "--name-only", ref).splitlines() if name.endswith(end)]
    git("read-tree", ref)
    git("update-index", "--cacheinfo", f"100644,{git('hash-object', '-w', '--stdin', data=b'{{{')},{path}")
    git("update-ref", ref, git("commit-tree", git("write-tree"), "-p", ref, "-m", "damage"))
    os.remove(store / "damage.index")
