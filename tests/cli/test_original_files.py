"""`scopes push --originals` on the command line, with the transcripts of three agents."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.importers.test_robustness import claude_records, codex_records, openai_records
from tests.support.planted import KINDS
from tests.support.remotes import make_bare

SESSIONS = {"claude-code": claude_records, "codex": codex_records, "openai": openai_records}


@pytest.fixture
def run(tmp_path):
    """Return a function that runs scopes on a store, `a` if no other one is named."""
    make_bare(tmp_path / "bare.git")

    def run(*words, store="a", code=0):
        done = scopes("--store", str(tmp_path / store), *words, table=PRODUCT, cwd=str(tmp_path))
        assert done.returncode == code, done.stderr
        return done

    return run


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("agent", SESSIONS)
def test_an_export_on_the_other_machine_has_the_same_bytes(run, tmp_path, agent):
    write(tmp_path / "session.jsonl", SESSIONS[agent]())
    run("import", "session.jsonl")
    run("remote", "add", "origin", str(tmp_path / "bare.git"))
    pushed = json.loads(run("push", "--all", "--originals", "--json").stdout)
    assert pushed["sources"][0] == {"conversation": "conv-001", "files": 1, "status": "new"}
    run("clone", str(tmp_path / "bare.git"), str(tmp_path / "b"))
    assert (
        run("export", "conv-001", "--format", "original", store="b").stdout == (tmp_path / "session.jsonl").read_text()
    )
    assert run("cat", "conv-001", "--original", store="b").stdout == run("cat", "conv-001", "--original").stdout


def test_a_secret_outside_of_messages_keeps_the_file_here(run, tmp_path):
    write(tmp_path / "session.jsonl", [*claude_records(), {"type": "environment", "KEY": KINDS[1][1]}])
    run("import", "session.jsonl")
    run("remote", "add", "origin", str(tmp_path / "bare.git"))
    done = run("push", "--all", "--originals", code=1)
    assert "conv-001\tnew\t" in done.stdout
    assert "conv-001\toriginal files\trefused\t0\t" in done.stdout
    assert "original files with a possible secret were not pushed" in done.stderr


def test_files_are_not_deleted_with_the_option(run, tmp_path):
    run("new")
    run("remote", "add", "origin", str(tmp_path / "bare.git"))
    done = run("push", "conv-001", "--delete", "--originals", code=2)
    assert "--delete cannot be combined with other options of push" in done.stderr
