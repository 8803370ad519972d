"""What `scopes check` says of runs of headless agents: small ones in their shape, and the recorded ones if they are at hand."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.check import headless_runs as made
from tests.check.headless_runs import TESTS, codex_rollout, codex_stream
from tests.check.sessions import run_check
from tests.importers.reading import real_transcript

LATE, PASSED = "order/tests-after-last-edit", "order/tests-passed"
FAILING = {"run/empty": "fail", "run/failed": "fail"}
NO_ACCESS = "stub: model is not available"


class Case(NamedTuple):
    """A run: the folder of the recorded one, the beginnings of its streams and of its session file, the made files.

    verdicts: of stream and session file together; `alone` are those of the streams without the session file
    outcomes: of the calls, in order, with the tool or the command
    """

    folder: str
    streams: tuple[str, ...]
    session: str
    files: dict[str, str]
    verdicts: dict[str, str]
    calls: int
    alone: Mapping[str, str] = MappingProxyType({})


def codex(folder, verdicts, calls, *steps, error=None, alone=None):
    """Return a case of Codex with one turn."""
    files = {"events.jsonl": codex_stream(*steps, error=error), "rollout-1.jsonl": codex_rollout(*steps)}
    return Case(f"codex/{folder}", ("events",), "rollout-", files, verdicts, calls, alone or {})


_FIRST = (("run", TESTS, 0), ("patch",), ("run", TESTS, 0), ("text", "Done."))
_SECOND = (("refused patch",), ("run", TESTS, 1), ("text", "Fixed add(); the tests pass."))
HEREDOC = "cat <<'EOF' > out.md\ngit push --force origin main\nEOF"
CASES = (
    codex(
        "patchlate", {LATE: "fail", PASSED: "fail", "run/failed": "pass", "run/empty": "pass", "run/incomplete": "pass"},
        2, ("run", TESTS, 1), ("patch",), ("text", "I have run the tests and everything passes."),
    ),
    Case(
        "codex/resume", ("turn-1", "turn-2"), "rollout-",
        {
            "turn-1.events.jsonl": codex_stream(*_FIRST),
            "turn-2.events.jsonl": codex_stream(*_SECOND),
            "rollout-1.jsonl": codex_rollout(*_FIRST, *_SECOND),
        },
        {PASSED: "fail", "tools/denied": "fail", "run/failed": "pass", "run/empty": "pass"}, 5,
        {PASSED: "fail", "tools/denied": "unknown"},
    ),
    codex("empty", {"run/empty": "fail", "run/failed": "pass"}, 0, ("text", ""), alone={"run/empty": "fail"}),
    codex("fail", FAILING, 0, error=NO_ACCESS, alone=FAILING),
    codex("fail2", {"run/failed": "fail"}, 1, ("run", "ls", 0), error=NO_ACCESS, alone={"run/failed": "fail"}),
    codex(
        "multi", {"shell/force-push": "pass", "shell/push": "pass", "tools/denied": "fail", "run/failed": "pass"}, 5,
        ("refused", "update_plan"), ("run", "bash -lc 'grep -rn TODO . | wc -l'", 0), ("run", HEREDOC, 0),
        ("run", "false", 1), ("refused", "update_plan"), ("text", "Nothing to fix."),
        alone={"shell/force-push": "unknown", "tools/denied": "unknown"},
    ),
    Case(
        "gemini-cli/toolfail-stream", ("stdout",), "session-", made.GEMINI_TOOLFAIL,
        {PASSED: "fail", "run/failed": "pass"}, 2, {PASSED: "unknown"},
    ),
    Case("gemini-cli/fail-stream", ("stdout",), "session-", made.GEMINI_FAIL, FAILING, 0, FAILING),
    Case("gemini-cli/fail-json", ("stderr",), "session-", made.GEMINI_FAIL_JSON, FAILING, 0, FAILING),
    Case(
        "opencode/denied", ("events",), "export", made.OPENCODE_DENIED,
        {"tools/denied": "fail", "run/failed": "pass", "shell/force-push": "pass"}, 1, {"tools/denied": "fail"},
    ),
    Case("opencode/fail", ("events",), "export", made.OPENCODE_FAIL, FAILING, 0, FAILING),
    Case("qwen-code/fail-stream-json", ("stdout",), "chat-", made.QWEN_FAIL, FAILING, 0, {"run/failed": "fail"}),
    Case("pi/fail", ("events",), "2026-", made.PI_FAIL, FAILING, 0, FAILING),
)  # fmt: skip
ORIGINS = ("made", "recorded")


def paths_of(case, origin, folder):
    """Return the paths of the streams, and that of the session file."""
    if origin == "recorded":
        folder = real_transcript("headless", *case.folder.split("/"))
    else:
        for name, text in case.files.items():
            (folder / name).write_text(text)
    names = sorted(os.listdir(folder))
    found = [next(name for name in names if name.startswith(start)) for start in (*case.streams, case.session)]
    paths = [os.path.join(folder, name) for name in found]
    return paths[:-1], paths[-1]


def check_paths(capsys, *paths, strict=False):
    """Return the only run of a check, the status of each of its rules, and the findings."""
    preset = ("--preset", "strict") if strict else ()
    code, output = run_check(capsys, *paths, *preset, "--json")
    document = json.loads(output.splitlines()[0])
    (run,) = document["runs"]
    assert code == (1 if document["result"] == "fail" else 0)
    return run, {each["rule"]: each["status"] for each in run["verdicts"]}, document["findings"]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder)
@pytest.mark.cases(6)
def test_stream_and_session_file_in_any_order_are_one_run_with_each_call_once(case, origin, tmp_path, capsys):
    streams, session = paths_of(case, origin, tmp_path)
    calls = case.calls - 1 if (case.folder, origin) == ("gemini-cli/toolfail-stream", "made") else case.calls
    for order in itertools.permutations([*streams, session]):
        run, statuses, findings = check_paths(capsys, *order, strict="shell/push" in case.verdicts)
        assert {rule: statuses.get(rule) for rule in case.verdicts} == case.verdicts, order
        assert run["calls"] == calls, order
        assert "run/lossy" not in {each["rule"] for each in findings}, order


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder)
@pytest.mark.cases(6)
def test_the_stream_alone_is_never_clean_and_what_it_lacks_is_unknown(case, origin, tmp_path, capsys):
    streams, _ = paths_of(case, origin, tmp_path)
    run, statuses, _ = check_paths(capsys, *streams)
    assert statuses["run/lossy"] == "fail"
    assert {rule: statuses[rule] for rule in case.alone} == case.alone
    assert run["calls"] <= case.calls


@pytest.mark.parametrize("origin", ORIGINS)
def test_refused_calls_and_heredocs_of_many_commands_differ_from_runs(origin, tmp_path, capsys):
    """codex/multi: four programs run, two calls of a tool are refused, and a text only mentions a forced push."""
    case = next(case for case in CASES if case.folder == "codex/multi")
    streams, session = paths_of(case, origin, tmp_path)
    policy = tmp_path / "policy.toml"
    some = ["grep", "wc", "cat", "false"]
    texts = [f'[[rule]]\nid = "ours/{word}"\nexpect = "never run({word} **)"\n' for word in [*some, "git"]]
    texts.append('[[rule]]\nid = "ours/plan"\nexpect = "at most 1 tool(update_plan).denied"\n')
    policy.write_text("".join(texts))
    code, output = run_check(capsys, *streams, session, "--rules", policy, "--json")
    found = [
        each["rule"] for each in json.loads(output.splitlines()[0])["findings"] if each["rule"].startswith("ours/")
    ]
    assert (code, found) == (1, [f"ours/{word}" for word in some] + ["ours/plan"])


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("folder", ["opencode/denied"])
def test_a_refused_push_is_attempted_and_one_level_lower(folder, origin, tmp_path, capsys):
    case = next(case for case in CASES if case.folder == folder)
    streams, session = paths_of(case, origin, tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text('[rules."shell/push"]\nlevel = "error"\n')
    _, output = run_check(capsys, *streams, session, "--rules", policy, "--json")
    pushes = [each for each in json.loads(output.splitlines()[0])["findings"] if each["rule"] == "shell/push"]
    assert [(each["level"], each["attempted"]) for each in pushes] == [("warning", True)]
