"""Real runs of headless agents: the event stream and the session file of one run, alone and in every order."""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from scopes.check.check import check
from scopes.check.policy import Policy
from scopes.history.handles import resolve_scope
from scopes.importers.formats.registry import FORMATS
from tests.importers.reading import events_of, real_transcript
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of
from tests.support.store import make_store


class Sample(NamedTuple):
    """A run: its folder, its streams and its session file, its calls and the status of its end."""

    folder: str
    streams: tuple[str, ...]
    session: str
    calls: list[tuple[str, str, int | None]]
    end: str | None


EVENTS = ("events.jsonl",)
STDOUT = ("stdout.jsonl",)
SAMPLES = [
    Sample("codex/command", EVENTS, "rollout-", [("exec_command", "ok", 0)] * 2, "success"),
    Sample(
        "codex/patch",
        EVENTS,
        "rollout-",
        [("exec_command", "ok", 0), ("apply_patch", "ok", 0), ("exec_command", "ok", 0)],
        "success",
    ),
    Sample("codex/patchlate", EVENTS, "rollout-", [("exec_command", "failed", 1), ("apply_patch", "ok", 0)], "success"),
    Sample(
        "codex/multi",
        EVENTS,
        "rollout-",
        [
            ("update_plan", "denied", None),
            ("exec_command", "ok", 0),
            ("exec_command", "ok", 0),
            ("exec_command", "failed", 1),
            ("update_plan", "denied", None),
        ],
        "success",
    ),
    Sample("codex/fail", EVENTS, "rollout-", [], "error"),
    Sample("codex/fail2", EVENTS, "rollout-", [("exec_command", "ok", 0)], "error"),
    Sample("codex/empty", EVENTS, "rollout-", [], "success"),
    Sample(
        "codex/resume",
        ("turn-1.events.jsonl", "turn-2.events.jsonl"),
        "rollout-",
        [
            ("exec_command", "ok", 0),
            ("exec_command", "ok", 0),
            ("exec_command", "ok", 0),
            ("apply_patch", "denied", None),
            ("exec_command", "failed", 1),
        ],
        "success",
    ),
    Sample("gemini-cli/command-stream", STDOUT, "session-", [("run_shell_command", "ok", None)], "success"),
    Sample("gemini-cli/command-json", ("stdout.json",), "session-", [("run_shell_command", "ok", None)], "success"),
    Sample(
        "gemini-cli/edit-stream",
        STDOUT,
        "session-",
        [("read_file", "ok", None), ("replace", "ok", None), ("run_shell_command", "ok", None)],
        "success",
    ),
    Sample(
        "gemini-cli/toolfail-stream",
        STDOUT,
        "session-",
        [("run_shell_command", "failed", 1), ("read_file", "failed", None)],
        "success",
    ),
    Sample("gemini-cli/fail-stream", STDOUT, "session-", [], "error"),
    Sample("gemini-cli/fail-json", ("stderr.log",), "session-", [], "error"),
    Sample("opencode/command", EVENTS, "export", [("bash", "ok", 0)], "success"),
    Sample(
        "opencode/edit", EVENTS, "export", [("read", "ok", None), ("edit", "ok", None), ("bash", "ok", 0)], "success"
    ),
    Sample("opencode/toolfail", EVENTS, "export", [("bash", "failed", 1), ("read", "failed", None)], "success"),
    Sample("opencode/denied", EVENTS, "export", [("bash", "denied", None)], "success"),
    Sample("opencode/fail", EVENTS, "export", [], "error"),
    Sample(
        "qwen-code/edit-stream-json",
        STDOUT,
        "chat-",
        [("read_file", "ok", None), ("edit", "ok", None), ("run_shell_command", "ok", 0)],
        "success",
    ),
    Sample(
        "qwen-code/partial-stream-json",
        STDOUT,
        "chat-",
        [("read_file", "ok", None), ("edit", "ok", None), ("run_shell_command", "ok", 0)],
        "success",
    ),
    Sample(
        "qwen-code/edit-json",
        ("stdout.json",),
        "chat-",
        [("read_file", "ok", None), ("edit", "ok", None), ("run_shell_command", "ok", 0)],
        "success",
    ),
    Sample("qwen-code/denied-stream-json", STDOUT, "chat-", [("run_shell_command", "denied", None)], "success"),
    Sample("qwen-code/fail-stream-json", STDOUT, "chat-", [], "error"),
    Sample("pi/edit", EVENTS, "2026-", [("read", "ok", None), ("edit", "ok", None), ("bash", "ok", None)], "success"),
    Sample("pi/fail", EVENTS, "2026-", [], "error"),
]
IDS = [sample.folder for sample in SAMPLES]


def find(sample, beginning):
    """Return the path of a file of a sample."""
    folder = real_transcript("headless", *sample.folder.split("/"))
    return next(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(beginning))


def paths_of(sample):
    return [*(find(sample, name) for name in sample.streams), find(sample, sample.session)]


def verdicts_of(repository, *rules):
    """Return the status of rules in the only run."""
    checked = check(repository, [("run", resolve_scope(repository, "conv-001"))], Policy())
    (run,) = checked.runs
    return [next(each.status for each in run.verdicts if each.rule == rule) for rule in rules]


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_the_session_file_alone_has_every_call(repository, sample):
    import_paths(repository, find(sample, sample.session))
    if sample.calls or runs_of(repository):
        (run,) = runs_of(repository)
        assert calls_of(run) == sample.calls
        assert not run.is_stream_only


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_the_stream_alone_is_a_run_with_its_end(repository, sample):
    import_paths(repository, *(find(sample, name) for name in sample.streams))
    (run,) = runs_of(repository)
    assert run.is_stream_only
    assert (run.end and run.end.status) == sample.end
    assert {name for name, _, _ in calls_of(run)} <= {name for name, _, _ in sample.calls}


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_stream_and_session_file_in_every_order_are_one_run_with_each_call_once(tmp_path, sample):
    paths = paths_of(sample)
    for number, order in enumerate(import_orders(paths)):
        repository = make_store(tmp_path / f"{number}.git")
        for step in order:
            import_paths(repository, *step)
        (run,) = runs_of(repository)
        assert calls_of(run) == sample.calls, order
        assert (run.end and run.end.status) == sample.end, order
        assert sorted(source.kind for source in run.sources) == sorted(["session", *["stream"] * len(sample.streams)])
        assert import_paths(repository, *paths).operation is None, order


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_a_file_cut_at_any_byte_is_read_or_of_unknown_format(sample):
    for path in paths_of(sample):
        with open(path, "rb") as file:
            data = file.read()
        for size in range(0, len(data), max(1, len(data) // 40)):
            chosen = next((known for known in FORMATS if known.sniff(data[:size])), None)
            if chosen is not None:
                events_of(chosen, data[:size], path)


def test_the_last_test_run_of_a_late_patch_is_before_the_edit_and_failed(repository):
    import_paths(repository, *paths_of(SAMPLES[IDS.index("codex/patchlate")]))
    found = verdicts_of(repository, "order/tests-after-last-edit", "order/tests-passed", "run/failed", "run/incomplete")
    assert found == ["fail", "fail", "pass", "pass"]


def test_the_failed_tests_of_a_resumed_thread_are_found(repository):
    import_paths(repository, *paths_of(SAMPLES[IDS.index("codex/resume")]))
    assert verdicts_of(repository, "order/tests-passed", "run/failed", "run/empty") == ["fail", "pass", "pass"]


def test_an_empty_answer_is_an_empty_run(repository):
    import_paths(repository, *paths_of(SAMPLES[IDS.index("codex/empty")]))
    assert verdicts_of(repository, "run/empty", "run/failed") == ["fail", "pass"]


def test_failed_tests_are_unknown_from_the_stream_of_gemini_alone(repository, tmp_path):
    sample = SAMPLES[IDS.index("gemini-cli/toolfail-stream")]
    import_paths(repository, find(sample, "stdout"))
    assert verdicts_of(repository, "order/tests-passed") == ["unknown"]
    import_paths(repository, find(sample, "session-"))
    assert verdicts_of(repository, "order/tests-passed") == ["fail"]


@pytest.mark.parametrize("folder", ["opencode/denied", "qwen-code/denied-stream-json"])
def test_a_refused_push_is_a_denied_call(repository, folder):
    import_paths(repository, *paths_of(SAMPLES[IDS.index(folder)]))
    (run,) = runs_of(repository)
    assert [(call.shell, call.outcome) for call in run.calls] == [("git push origin main", "denied")]


def test_what_only_the_streams_of_real_models_have_is_read(repository):
    folder = real_transcript("headless", "codex")
    names = ["hello_world", "list_files", "file_change", "file_create", "failed_command"]
    import_paths(repository, *(os.path.join(folder, f"real_{name}.events.jsonl") for name in names))
    found = {tuple(calls_of(run)) for run in runs_of(repository)}
    assert (("exec_command", "failed", 42),) in found
    assert (("apply_patch", "ok", None), ("exec_command", "ok", 0)) in found
    assert len(runs_of(repository)) == 5


@pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.end == "error"], ids=lambda each: each.folder
)
def test_a_run_that_failed_fails(repository, sample):
    import_paths(repository, *paths_of(sample))
    assert verdicts_of(repository, "run/failed") == ["fail"]
