"""The command that prints what each file of a folder became."""

from __future__ import annotations

import pytest

from tests.importers.format_samples import SAMPLES
from tests.importers.format_speed import copy_sessions
from tests.importers.transcript_table import (
    import_folder,
    refs_elsewhere,
    refs_of,
    shorten_runs,
    summary_rows,
    table_rows,
)
from tests.support.store import make_store

NAMES = ("pi lines", "gemini document", "chatgpt document", "aider text", "kimi lines")


@pytest.fixture
def folder(tmp_path):
    """A folder with a file each of some formats, and one of none."""
    top = tmp_path / "transcripts"
    top.mkdir()
    for name in NAMES:
        (top / f"{name.replace(' ', '-')}{'.md' if name == 'aider text' else '.jsonl'}").write_bytes(
            SAMPLES[name][1][-1]
        )
    (top / "notes.json").write_text("[]")
    return top


def test_every_file_has_a_row_with_all_of_its_bytes(folder, tmp_path):
    store = make_store(tmp_path / "store.git")
    done = import_folder(store, str(folder))
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table_rows(store, done, str(folder))][2:]
    assert [row[0] for row in rows if row[6] == row[7] and row[6]] == [
        "chatgpt-document.jsonl", "gemini-document.jsonl", "kimi-lines.jsonl", "pi-lines.jsonl",
    ]  # fmt: skip
    assert rows[-1][:2] == ["notes.json", "skipped: unknown format"]
    assert any(row[:2] == ["pi-lines.jsonl", "pi"] and row[4] == "1" for row in rows)


def test_the_summary_says_that_a_second_import_creates_nothing(folder, tmp_path):
    store = make_store(tmp_path / "store.git")
    done = import_folder(store, str(folder))
    summary = "\n".join(summary_rows(store, done, str(folder)))
    assert "not accounted for: 0" in summary
    assert "second import: 0 new objects, operation None, refs equal: True" in summary
    assert summary.endswith("refs equal: True")


@pytest.mark.slow
def test_another_machine_makes_the_same_objects_of_every_format(tmp_path):
    """A file of each format, with another time zone, locale and hash seed."""
    top = tmp_path / "transcripts"
    top.mkdir()
    for number, (_, moments) in enumerate(SAMPLES.values()):
        (top / f"{number}.jsonl").write_bytes(moments[-1])
    store = make_store(tmp_path / "store.git")
    import_folder(store, str(top))
    assert refs_elsewhere(str(top)) == refs_of(store)


def test_of_many_parts_of_a_file_the_first_ones_are_shown():
    rows = list(shorten_runs(f"| a.db#{number} | x |" for number in range(9)))
    assert rows == ["| a.db#0 | x |", "| a.db#1 | x |", "| a.db#2 | x |", "| a.db# has 6 more parts |"]


def test_copies_of_a_session_have_ids_of_their_own(folder, tmp_path):
    files, size = copy_sessions(folder / "pi-lines.jsonl", tmp_path / "home", ".pi/agent/sessions/p/x_{}.jsonl")
    copies = sorted((tmp_path / "home").rglob("*.jsonl"))
    assert (files, len(copies), len({path.read_bytes() for path in copies})) == (files, files, files)
    assert size == sum(path.stat().st_size for path in copies)
