"""The sessions of commits, as a project says that is recorded by Entire, and the measurement that compares them."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import explaining
from tests.benchmarks.__main__ import main
from tests.benchmarks.checkpoints import read_truth
from tests.support.code_sessions import ClaudeSession, Project

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
BRANCH = "refs/heads/entire/checkpoints/v1"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.write("app.py", "begin = 1\n")
    made.commit("Begin")
    return made


def commit(project, checkpoint, text="x = 1\n"):
    project.write("app.py", project.read("app.py") + text)
    return project.commit(f"Change\n\nEntire-Checkpoint: {checkpoint}")


def record(project, *checkpoints, ref=BRANCH):
    """Write the branch with checkpoints: (id, session, transcript or None, minutes before now)."""
    entries = []
    for name, session, transcript, minutes in checkpoints:
        created = project.clock.now.timestamp() - 60 * minutes
        time = (
            type(project.clock.now).fromtimestamp(created, project.clock.now.tzinfo).isoformat().replace("+00:00", "Z")
        )
        document = {"checkpoint_id": name, "session_id": session, "created_at": time}
        files = {"0/metadata.json": json.dumps(document), "metadata.json": json.dumps({"checkpoint_id": name})}
        files |= {} if transcript is None else {"0/full.jsonl": transcript}
        for path, text in files.items():
            (project.path / "blob").write_text(text)
            blob = project.git("hash-object", "-w", "blob").strip()
            entries.append(f"100644,{blob},{name[:2]}/{name[2:]}/{path}")
    (project.path / "blob").unlink()
    index = ["env", f"GIT_INDEX_FILE={project.path}/.git/other", "git"]
    project.run([*index, "update-index", "--add", *(word for entry in entries for word in ("--cacheinfo", entry))])
    tree = project.run([*index, "write-tree"]).strip()
    project.git("update-ref", ref, project.git("commit-tree", tree, "-m", "checkpoints").strip())


def test_a_trailer_names_a_checkpoint_and_that_a_session(project):
    name = commit(project, "aa1111111111")
    record(project, ("aa1111111111", ONE, "{}", 1))
    assert read_truth(str(project.path), [ONE, TWO]) == {name: {ONE}}


def test_a_session_may_have_a_date_before_its_id(project):
    name = commit(project, "aa1111111111")
    record(project, ("aa1111111111", f"2026-01-23-{ONE}", "{}", 1))
    assert read_truth(str(project.path), [ONE]) == {name: {ONE}}


def test_a_checkpoint_without_a_stored_transcript_does_not_count(project):
    commit(project, "aa1111111111")
    record(project, ("aa1111111111", ONE, None, 1))
    assert read_truth(str(project.path), [ONE]) == {}


def test_a_checkpoint_that_is_more_than_ten_minutes_older_than_its_commit_is_stale(project):
    commit(project, "aa1111111111")
    record(project, ("aa1111111111", ONE, "{}", 30))
    assert read_truth(str(project.path), [ONE]) == {}


def test_a_session_that_is_not_known_and_a_trailer_without_a_checkpoint_do_not_count(project):
    commit(project, "aa1111111111")
    commit(project, "bb2222222222", "y = 2\n")
    record(project, ("aa1111111111", ONE, "{}", 1))
    assert read_truth(str(project.path), [TWO]) == {}


def test_checkpoints_may_be_in_refs_of_their_own(project):
    name = commit(project, "aa1111111111")
    record(project, ("aa1111111111", ONE, "{}", 1), ref="refs/entire/checkpoints/aa/1111111111")
    assert read_truth(str(project.path), [ONE]) == {name: {ONE}}


def test_a_commit_may_be_of_several_sessions(project):
    name = commit(project, "aa1111111111 bb2222222222")
    record(project, ("aa1111111111", ONE, "{}", 1), ("bb2222222222", TWO, "{}", 1))
    assert read_truth(str(project.path), [ONE, TWO]) == {name: {ONE, TWO}}


@pytest.mark.slow
def test_the_measurement_compares_links_and_lines_with_the_sessions(project, tmp_path, monkeypatch):
    session = ClaudeSession(project).prompt("please add some values to the file")
    session.edit("app.py", "begin = 1\n", "begin = 1\nthe_first_value = 1\nthe_second_value = 2\n")
    project.commit("Values\n\nEntire-Checkpoint: aa1111111111")
    session.save(tmp_path / "sessions")
    record(project, ("aa1111111111", session.id, "{}", 1))
    monkeypatch.setattr(explaining, "PLACES", [str(tmp_path / "sessions"), str(project.path)])
    assert main(["why", "--quick", "--json", str(tmp_path / "samples.json")]) == 0
    rows = json.loads((tmp_path / "samples.json").read_text())["rows"]
    found = {row["operation"]: row["ours"]["best"] for row in rows}
    assert found["commits linked: precision, 1 of 1"] == 100
    assert found["commits linked: recall"] == 100
    assert found["lines called certain: right, 2 of 2"] == 100
    assert found["one line, indexed: mean"] > 0


def test_without_sessions_there_is_a_note_and_no_row(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(explaining, "PLACES", [])
    assert main(["why", "--quick"]) == 0
    assert "note: why: no sessions and repositories" in capsys.readouterr().out
