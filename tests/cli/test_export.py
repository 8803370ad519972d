"""`scopes export`: output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from scopes.importers.import_sample import import_sample
from scopes.importers.import_sources import import_sources
from tests.cli.running import PRODUCT, command_line, environment, imported, scopes
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import make_store


@pytest.fixture
def store(tmp_path):
    """A store with the sample, and with an imported session of two files."""
    repository = make_store(tmp_path / "store.git")
    import_sample(repository)
    main = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    helper = write_transcript(tmp_path / "b.jsonl", *session_records("s1", "c", part="helper"))
    import_sources(repository, [main, helper], (DemoFormat(),))
    return str(tmp_path / "store.git")


def export(store, *words, **keywords):
    """Run the command on a store."""
    return scopes("--store", store, "conv", "export", *words, table=PRODUCT, **keywords)


def test_markdown_goes_to_standard_output(store):
    done = export(store, "conv-001")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Login fails on Safari\n\n- Conversation: conv-001")


def test_json_exports_json(store):
    done = export(store, "conv-001", "--json", "--all")
    assert (done.returncode, json.loads(done.stdout)["kind"]) == (0, "export")
    assert export(store, "conv-001", "--json", "--format", "openai").stdout.startswith("[\n")


@pytest.mark.parametrize("form", ["markdown", "original"])
def test_what_is_not_json_is_not_printed_as_json(store, form):
    done = export(store, "conv-001", "--json", "--format", form)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"]["message"] == f"{form} is not JSON"


def test_a_file_is_reported(store, tmp_path):
    done = export(store, "conv-001", "--output", "out.md", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert report == {
        "scopes": 1, "kind": "export", "conversation": "conv-001", "path": "out.md", "format": "markdown", "messages": 7,
        "bytes": (tmp_path / "out.md").stat().st_size,
    }  # fmt: skip
    assert export(store, "conv-001", "-o", "out.md", "--force", cwd=tmp_path).stdout == "out.md\n"


def test_an_existing_file_is_refused(store, tmp_path):
    (tmp_path / "out.md").write_text("mine")
    done = export(store, "conv-001", "-o", "out.md", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == "error: file 'out.md' already exists\nhint: overwrite it with --force, or choose another name\n"
    )
    assert (tmp_path / "out.md").read_text() == "mine"


def test_a_dash_is_standard_output(store, tmp_path):
    done = export(store, "conv-001", "--format", "jsonl", "-o", "-", cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 7
    assert not (tmp_path / "-").exists()


def test_original_bytes_go_through_a_pipe_unchanged(store, tmp_path):
    done = export(store, "conv-002", "--format", "original", "--source", "s1", text=False)
    assert done.stdout == (tmp_path / "a.jsonl").read_bytes()


def test_several_original_files_need_a_directory(store, tmp_path):
    done = export(store, "conv-002", "--format", "original", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "choose with --source: s1, s1/helper" in done.stderr
    done = export(store, "conv-002", "--format", "original", "-o", "backup", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["files"] == ["s1.jsonl", "s1.helper.jsonl"]
    assert (tmp_path / "backup" / "s1.helper.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_closed_pipe_is_no_failure(store):
    line = command_line("--store", store, "conv", "export", "conv-001", "--all", table=PRODUCT)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_an_error(store):
    with open("/dev/full", "w") as full:
        line = command_line("--store", store, "conv", "export", "conv-001", table=PRODUCT)
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False, text=True)
    assert (done.returncode, done.stderr) == (8, "error: cannot write the output: no space left on device\n")


def test_the_locale_changes_nothing(store):
    done = export(store, "conv-001", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, text=False)
    assert "·".encode() in done.stdout


def test_writing_out_needs_neither_the_importers_nor_the_terminals_libraries(store):
    """Start-up: only what the command uses."""
    names = imported("--store", store, "conv", "export", "conv-001")
    assert [name for name in names if name.startswith(("scopes.importers", "rich", "pydantic", "markdown_it"))] == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("conv-001", "--notes", "--output", "x"), "--notes writes into the project, and no file"),
        (("conv-001", "--notes", "--force"), "--notes writes into the project, and no file"),
        (("conv-001/main",), "are those of a whole conversation"),
        (("conv-001", "--source", "a"), "only original bytes have a source"),
    ],
)
@pytest.mark.parametrize("form", ["agent-trace", "git-ai"])
def test_what_records_of_commits_do_not_heed_is_refused(store, tmp_path, words, problem, form):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = export(store, *words, "--format", form, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert not os.path.exists(tmp_path / "x")
    assert not os.path.exists(tmp_path / ".git/refs/notes")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--format", "git-ai"), "add --notes to write them there"),
        (("--format", "json", "--notes"), "only records of commits become notes"),
    ],
)
def test_notes_are_written_only_where_they_were_asked_for(store, tmp_path, words, problem):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = export(store, "conv-001", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert not os.path.exists(tmp_path / ".git/refs/notes")


@pytest.mark.parametrize("form", ["atif", "otel"])
def test_formats_of_programs_are_json(store, form):
    done = export(store, "conv-001", "--json", "--format", form)
    assert (done.returncode, bool(json.loads(done.stdout.splitlines()[-1] if form != "atif" else done.stdout))) == (
        0,
        True,
    )


def test_all_conversations_are_a_site(store, tmp_path):
    done = export(store, "--site", "--output", "site", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == {
        "scopes": 1, "kind": "site", "path": "site", "conversations": 2, "messages": 18,
        "bytes": sum(each.stat().st_size for each in (tmp_path / "site").iterdir()),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--site", "--format", "json", "--output", "x"), "leave them out"),
        (("--site",), "--output DIR"),
        (("conv-001", "--site", "--output", "x"), "leave them out"),
        (("conv-001", "conv-002", "--output", "x"), "--output DIR/"),
    ],
)
@pytest.mark.every_case("each is another mistake")
def test_a_site_needs_its_options_and_no_others(store, words, hint):
    done = export(store, *words)
    assert (done.returncode, hint in done.stderr) == (2, True)
