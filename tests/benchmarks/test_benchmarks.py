"""The benchmark program works: one cheap row, measured once. No time is ever asserted."""

from __future__ import annotations

import gc
import json

import pytest

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.events import Draft
from scopes.importers.identity import content_bytes
from tests.benchmarks import transcripts
from tests.benchmarks.__main__ import GROUPS, main


def test_a_row_has_its_reference_and_all_samples(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda: None)  # before each sample, of all that a test run has in memory
    samples = tmp_path / "samples.json"
    assert main(["read", "--quick", "--json", str(samples)]) == 0
    shown = capsys.readouterr().out
    assert "scopes: " in shown
    assert "log of 20 with bodies" in shown
    first, *_ = json.loads(samples.read_text())["rows"]
    assert first["against"].startswith("git log")
    assert first["ours"]["best"] > 0 < first["reference"]["best"]
    assert first["met"] is (first["ratio"] <= first["budget"])


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name", sorted(GROUPS.keys() - {"hooks", "retrieval", "why"})
)  # these have no small amounts, or need files
def test_every_group_measures_something(name, tmp_path, capsys):
    samples = tmp_path / "samples.json"
    assert main([name, "--quick", "--megabytes", "1", "--messages", "100", "--json", str(samples)]) == 0
    notes = capsys.readouterr().out
    assert json.loads(samples.read_text())["rows"] or "skipped" in notes


@pytest.mark.sweep
def test_an_import_is_compared_with_git_in_time_size_and_memory(tmp_path, capsys):
    samples = tmp_path / "samples.json"
    assert main(["import", "--quick", "--megabytes", "1", "--json", str(samples)]) == 0
    shown = capsys.readouterr().out
    for what in (
        "first search after the import",
        "of all processes together",
        "nothing is new",
        "all objects after gc",
        "of them the messages",
        "its first page of 50",
    ):
        assert what in shown
    first, *others = json.loads(samples.read_text())["rows"]
    assert first["against"] == "git fast-import of the same objects"
    assert {row["unit"] for row in others} >= {"s", "MB"}
    assert all(row["ours"]["best"] > 0 < row["reference"]["best"] for row in [first, *others])


@pytest.mark.sweep
def test_a_search_is_measured_with_its_index(tmp_path, capsys):
    samples = tmp_path / "samples.json"
    assert main(["search", "--quick", "--megabytes", "1", "--messages", "100", "--json", str(samples)]) == 0
    rows = json.loads(samples.read_text())["rows"]
    assert [row["operation"] for row in rows if row["operation"].startswith("search for")] == [
        "search for a rare word", "search for a common word"
    ] * 2  # fmt: skip
    assert all(row["ours"]["best"] > 0 < row["reference"]["best"] for row in rows)


def test_copies_of_a_transcript_are_other_sessions_with_other_messages(tmp_path, monkeypatch):
    data = transcripts.drawn_session(0).data
    (tmp_path / "claude-code").mkdir()
    (tmp_path / "claude-code" / "one.jsonl").write_bytes(data)
    monkeypatch.setattr(transcripts, "FOLDER", tmp_path)
    material = transcripts.make_material(str(tmp_path / "copies"), 3 * len(data))
    events = [list(ClaudeCode().walk_events(Source(path, size))) for path, size in material.files.items()]
    assert material.real
    assert len({session.native_id for session, *_ in events}) == 3
    contents = [content_bytes(event) for session in events for event in session if isinstance(event, Draft)]
    assert len(contents) == 3 * 4 * 150
    assert len(set(contents)) == len(contents)


def test_an_unknown_name_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "append" in capsys.readouterr().err


@pytest.mark.sweep
def test_contexts_are_measured_cold_and_cached(capsys):
    assert main(["context", "--quick"]) == 0
    shown = capsys.readouterr().out
    assert "exact, counts known" in shown
    assert shown.count("the whole command, cached") == 2


@pytest.mark.sweep
def test_sharing_is_compared_with_git_on_the_same_objects(tmp_path):
    samples = tmp_path / "samples.json"
    assert main(["share", "--quick", "--json", str(samples)]) == 0
    rows = json.loads(samples.read_text())["rows"]
    assert [row["operation"].partition(" ")[0].rstrip(",") for row in rows] == [
        *(name for name in ("push", "clone", "fetch") for _ in range(3)), "list", "first",
    ]  # fmt: skip
    assert all(row["ours"]["best"] > 0 < row["reference"]["best"] for row in rows)
