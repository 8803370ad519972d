"""`scopes import`: output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from scopes.cli import import_runner
from scopes.errors import Inaccessible
from scopes.importers import discovery
from scopes.importers.import_sample import SAMPLE_SESSIONS
from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, command_line, environment, scopes

RECORD = '{"messages": [{"role": "user", "content": "How much is tea?"}, {"role": "assistant", "content": "Four."}]}\n'


@pytest.fixture
def folder(tmp_path):
    """A home whose histories hold a transcript and a link to one elsewhere."""
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    (projects / "run.jsonl").write_text(RECORD)
    (tmp_path / "elsewhere.jsonl").write_text(RECORD.replace("Four", "Five"))
    (projects / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    return tmp_path


def warnings(folder, *words):
    """Import and return the warnings of the answer."""
    home = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    line = ("--store", str(folder / "store.git"), "conv", "import", *words, "--json")
    return json.loads(scopes(*line, table=PRODUCT, env=home).stdout)["warnings"]


def test_a_link_out_of_a_folder_is_a_note(folder):
    """Architecture: what was left out is part of the result."""
    (found,) = warnings(folder, str(folder / ".claude"))
    assert found == f"{folder}/.claude/projects/link.jsonl points out of the folder and was not followed"


def test_a_link_out_of_a_standard_folder_is_a_note(folder):
    (found,) = warnings(folder, "--dry-run")
    assert "link.jsonl points out of" in found


def run(folder, *words):
    """Import in a home of its own; returns the finished process."""
    home = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    return scopes("--store", str(folder / "store.git"), "conv", "import", *words, table=PRODUCT, env=home)


def test_the_sizes_of_standard_folders_have_the_units_of_all_other_sizes(folder):
    done = run(folder)
    assert f"Claude Code: 1 transcript, {len(RECORD)} B, in " in done.stderr


def test_a_dry_run_makes_no_store(folder):
    done = run(folder, "--dry-run", str(folder / "elsewhere.jsonl"))
    assert (done.returncode, done.stdout.split()[0], (folder / "store.git").exists()) == (0, "conv-001", False)


@pytest.mark.parametrize("words", [["--strict"], []])
def test_a_refused_import_creates_no_store(folder, words):
    name = "broken.jsonl" if words else "alien.jsonl"
    (folder / name).write_text(RECORD + "{broken\n" if words else "no transcript\n")
    done = run(folder, *words, str(folder / name))
    assert (done.returncode, (folder / "store.git").exists()) == (7, False)


def test_a_dry_run_works_on_a_store_that_cannot_be_written(folder):
    assert run(folder, str(folder / "elsewhere.jsonl")).returncode == 0
    store = folder / "store.git"
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for directory in folders:
        directory.chmod(0o500)
    try:
        done = run(folder, "--dry-run", str(folder / ".claude"))
        assert (done.returncode, done.stdout.split()[0], done.stderr.count("error")) == (0, "conv-002", 0)
    finally:
        for directory in folders:
            directory.chmod(0o700)


@pytest.mark.parametrize("words", [["run.jsonl"], ["--watch"], ["--since", "today"], ["--project", "."]])
def test_the_sample_cannot_be_combined_with_other_options(folder, words):
    done = run(folder, "--sample", *words)
    assert (done.returncode, (folder / "store.git").exists()) == (2, False)


def test_the_sample_sessions_are_one_conversation_whose_branches_disagree(folder):
    """The guided example of the README: the second session is a copy of the first one, continued differently."""
    done = run(folder, *SAMPLE_SESSIONS, "--json")
    imported = json.loads(done.stdout)
    assert [(row["id"], row["branches"]) for row in imported["conversations"]] == [("conv-001", 2)]
    words = ("--store", str(folder / "store.git"), "merge", "conv-001", "fork/91b6c3f4", "--strict", "--json")
    merge = scopes(*words, table=PRODUCT, env={"HOME": str(folder)})
    merged = json.loads(merge.stdout)
    assert (merge.returncode, [row["type"] for row in merged["conflicts"]]) == (3, ["resource-contention"])
    assert [(row["path"], row["outcome"]) for row in merged["files"]] == [("shop/login.py", "overlap")]


def test_given_files_that_are_not_transcripts_exit_with_7(folder):
    """Also several of them; together with transcripts, which are imported, the exit code is 1."""
    for name in ("x.jsonl", "y.jsonl"):
        (folder / name).write_text("no transcript\n")
    done = run(folder, str(folder / "x.jsonl"), str(folder / "y.jsonl"))
    listed = f"error: 2 files are of no known format: {folder}/x.jsonl, {folder}/y.jsonl\n"
    assert (done.returncode, done.stderr.startswith(listed), done.stdout) == (7, True, "")
    done = run(folder, str(folder / "x.jsonl"), str(folder / "elsewhere.jsonl"))
    assert (done.returncode, "x.jsonl: unknown format" in done.stderr) == (1, True)
    assert done.stdout.startswith("conv-001\t")


def test_a_dry_run_counts_unchanged_conversations_in_a_note(folder):
    run(folder, str(folder / "elsewhere.jsonl"))
    done = run(folder, "--dry-run", str(folder / "elsewhere.jsonl"), str(folder / ".claude"))
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["conv-002"]
    assert "note: 1 conversation unchanged\n" in done.stderr
    answer = json.loads(run(folder, "--dry-run", "--json", str(folder / "elsewhere.jsonl")).stdout)
    assert (answer["conversations"], answer["unchanged"]) == ([], 1)


@pytest.mark.parametrize("through", ["-", "pipe"])
def test_a_transcript_can_come_through_a_pipe(tmp_path, through):
    """It is kept byte for byte, and known the second time."""
    store = ("--store", str(tmp_path / "store.git"), "conv")
    name = through
    if through == "pipe":
        name = str(tmp_path / "pipe")
        os.mkfifo(name)
    for new in (2, 0):
        keywords = {"stdin": None, "input": RECORD} if through == "-" else {}
        writer = subprocess.Popen(["sh", "-c", 'printf "%s" "$0" > "$1"', RECORD, name]) if through == "pipe" else None
        done = scopes(*store, "import", name, table=PRODUCT, **keywords)
        if writer is not None:
            assert writer.wait() == 0
        assert (done.returncode, done.stdout.split("\t")[3]) == (0, str(new)), done.stderr
    assert scopes(*store, "export", "conv-001", "--format", "original", table=PRODUCT).stdout == RECORD


def test_unreadable_records_are_reported_also_in_a_pipe(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(RECORD + "{broken\n")
    done = scopes("--store", str(tmp_path / "store.git"), "conv", "import", str(path), table=PRODUCT)
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"note: 1 record could not be read and is kept as raw bytes: {path}, byte {len(RECORD)}"
    )


def test_a_named_pipe_without_a_writer_is_refused_soon(folder, monkeypatch):
    """A-10: it waited for ever."""
    monkeypatch.setattr(discovery, "PIPE_SECONDS", 0.1)
    os.mkfifo(folder / "pipe")
    with pytest.raises(Inaccessible, match="is a named pipe, and no program wrote into it for") as refusal:
        discovery.open_pipe(str(folder / "pipe"))
    assert refusal.value.exit_code == 8


@pytest.mark.slow
def test_process_substitution_works_also_with_a_slow_writer(folder):
    """The shell gives the path /dev/fd/N of a pipe."""
    line = command_line("--store", str(folder / "store.git"), "conv", "import", table=PRODUCT)
    script = '"$@" <(sleep 1; printf "%s" "$RECORD")'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *line], check=False, env=environment(RECORD=RECORD), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split("\t")[2:4]) == (0, ["2", "2"]), done.stderr


def test_of_several_named_paths_the_unusable_ones_are_reported(folder):
    """R4: the others are imported; the exit code is 1."""
    os.mkdir(folder / "empty")
    done = run(folder, "/dev/zero", str(folder / "elsewhere.jsonl"), str(folder / "empty"))
    assert (done.returncode, done.stdout.startswith("conv-001\t")) == (1, True), done.stderr
    assert "/dev/zero" in done.stderr
    assert "contains no transcripts" in done.stderr


def test_a_garbage_file_in_a_folder_is_a_note_in_a_pipe_too(folder):
    """D6: exit 0 and no word of it."""
    (folder / ".claude" / "projects" / "garbage.jsonl").write_text("no transcript")
    done = run(folder, str(folder / ".claude"))
    assert (done.returncode, "garbage.jsonl: unknown format" in done.stderr) == (0, True), done.stderr


def test_notes_of_one_kind_are_listed_with_verbose(tmp_path):
    """D15."""
    made = Conversation(tmp_path)
    paths = [str(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    for path in paths:
        with open(path, "w", encoding="utf-8") as file:
            file.write(RECORD.replace("tea", path))
    for conversation in made.run("import", *paths, "--json")["conversations"]:
        made.run("delete", conversation["id"], "--json")
    brief, verbose = (made.run_main("import", *paths, *words).stderr for words in ((), ("-v",)))
    assert "2 sessions were deleted here and stay deleted; the first: session " in brief
    assert (brief.count("was deleted here and stays deleted"), verbose.count("was deleted here")) == (1, 3)


def test_links_out_of_the_standard_folders_are_counted_and_named_if_there_is_nothing_else(folder):
    projects = folder / ".claude" / "projects"
    (projects / "more.jsonl").symlink_to(folder / "elsewhere.jsonl")
    (found,) = warnings(folder, "--dry-run")
    assert found.startswith("2 links point out of the folder and were not followed; the first: ")
    (projects / "run.jsonl").unlink()
    done = run(folder)
    assert (done.returncode, done.stdout) == (4, "")
    assert "only 2 links out of them, such as" in done.stderr
    assert "links are not followed\nhint: give the folder that they point to: scopes import FOLDER\n" in done.stderr
    done = run(folder, str(projects))
    assert "only links out of it, which are not followed: 2" in done.stderr
    assert f"hint: import what they point to, such as {folder}/elsewhere.jsonl\n" in done.stderr


def test_a_row_of_a_pipe_has_the_first_prompt_if_there_is_no_title(folder):
    row = run(folder, str(folder / "elsewhere.jsonl")).stdout.rstrip("\n").split("\t")
    assert row[:2] == ["conv-001", "How much is tea?"]


def copies():
    """Return the paths of a transcript and of a copy that was continued differently."""
    faults = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults")
    return [os.path.join(faults, name) for name in ("history.jsonl", "continued.jsonl")]


@pytest.mark.parametrize("words", [[], ["--dry-run"], ["--report"]])
def test_the_output_says_which_session_joined_which_conversation(folder, words):
    done = run(folder, *copies(), *words)
    (line,) = [line for line in done.stderr.splitlines() if " joined conv-001 as branch fork/" in line]
    assert line.endswith("(3 equal messages)")


def test_list_says_what_there_is_and_imports_nothing(folder):
    done = run(folder, "--list")
    assert done.stdout.split("\t")[:4] == ["Claude Code", "1", str(len(RECORD)), "1"]
    assert not (folder / "store.git").exists()
    assert run(folder).returncode == 0
    (found,) = json.loads(run(folder, "--list", "--json").stdout)["agents"]
    assert (found["agent"], found["files"], found["new"]) == ("Claude Code", 1, 0)


def test_list_without_transcripts_is_an_error_with_the_places(tmp_path):
    done = run(tmp_path, "--list")
    assert done.returncode == 4
    assert "these were looked at: ~/.claude/projects" in " ".join(done.stderr.split())


def test_list_goes_with_no_other_option(folder):
    assert "--list cannot be combined" in run(folder, "--list", "--strict").stderr


def test_a_broken_folder_of_one_agent_does_not_stop_the_others(folder):
    """The database of OpenCode is damaged, that of llm is none, and the folder of pi is a loop of links."""
    (folder / ".local/share/opencode").mkdir(parents=True)
    (folder / ".local/share/opencode/opencode.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    (folder / ".config/io.datasette.llm").mkdir(parents=True)
    (folder / ".config/io.datasette.llm/logs.db").write_bytes(b"")
    (folder / ".pi/agent").mkdir(parents=True)
    (folder / ".pi/agent/sessions").symlink_to(folder / ".pi/agent/sessions")
    os.mkfifo(folder / ".codex")
    done = run(folder)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert "opencode.db" in done.stderr


def test_a_folder_that_cannot_be_read_is_skipped_with_its_reason(folder, monkeypatch):
    (folder / ".codex/sessions").mkdir(parents=True)

    def find(path, skipped=None):
        if "codex" in path:
            raise Inaccessible(f"cannot read {path!a}: Permission denied")
        return discovery.find_sources(path, skipped)

    monkeypatch.setattr(import_runner, "find_sources", find)
    output = SimpleNamespace(say=lambda _: None)
    found = import_runner.collect_sources(SimpleNamespace(environ={}, home=str(folder), output=lambda: output), [])
    assert [os.path.basename(source.path) for source in found.sources] == ["run.jsonl"]
    assert [(os.path.basename(each.path), each.reason[-17:]) for each in found.skipped] == [
        ("sessions", "Permission denied")
    ]
