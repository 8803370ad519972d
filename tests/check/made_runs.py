"""Make the runs that rules read directly, without a store, and judge them by one rule."""

from __future__ import annotations

from typing import Any

from scopes.check.calls import Call, command_line_of, edits_of
from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Verdict
from scopes.check.judge import Judge
from scopes.check.policy import Policy, parse_policy
from scopes.check.rules.registry import PARAMETERS
from scopes.check.run import Run, RunPart, RunSource, Text
from scopes.model.message import Part

WORKSPACE = "/home/dev/shop"
OK, FAILED, DENIED, OPEN = "ok", "failed", "denied", "open"
STREAM = RunSource("agent.jsonl", "codex", "stream")


def make_run(*steps: Any, directory: str | None = WORKSPACE, **fields: Any) -> Run:
    """Return a run of steps: (name, input, result) is a call, a text the agent's answer, (author, text) another's.

    A result is an exit code, or OK, FAILED, DENIED or OPEN without one. A fourth item has further fields of the call.
    """
    calls, texts, parts = [], [], []
    for number, step in enumerate(steps, 1):
        message = f"m{number}"
        if isinstance(step, str) or len(step) == 2:
            kind, text = ("agent", step) if isinstance(step, str) else step
            texts.append(Text(number, message, "coder" if kind == "agent" else "carol", kind, text))
            parts.append(RunPart(number, message, texts[-1].author, Part("text", {"text": text})))
            continue
        calls.append(_call(number, message, directory, *step))
        parts += [RunPart(number, message, "coder", part) for part in (calls[-1].call, calls[-1].result) if part]
    given = {"answers": len(texts), "parts": tuple(parts), "sources": (), **fields}
    return Run("run", None, None, directory, tuple(calls), tuple(texts), **given)


def _call(number, message, directory, name, given, result=0, fields=None):
    key = "input" if isinstance(given, dict) else "input_text"
    part = Part("tool_call", {"call_id": f"c{number}", "name": name, key: given})
    outcome = result if isinstance(result, str) else OK if result == 0 else FAILED
    output = None if outcome == OPEN else Part("tool_result", {"call_id": f"c{number}", "output": "done"})
    values = {
        "number": number, "message": message, "agent": "coder", "sub_agent": False, "call": part, "result": output,
        "outcome": outcome, "exit_code": result if isinstance(result, int) else None, "directory": directory,
        "shell": command_line_of(part), "edits": edits_of(part),
    }  # fmt: skip
    return Call(**{**values, **(fields or {})})


def shell(command, result=0, **fields):
    """Return a step that runs a command line."""
    return "Bash", {"command": command}, result, fields


def edit(path, result=OK, old="a", new="b", **fields):
    """Return a step that replaces a text of a file."""
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}, result, fields


def write(path, content="x", result=OK, **fields):
    """Return a step that writes a whole file."""
    return "Write", {"file_path": path, "content": content}, result, fields


def read(path, result=OK):
    """Return a step that reads a file."""
    return "Read", {"file_path": path}, result


def parse(text):
    """Return the policy with a text."""
    return parse_policy(text, "scopes-check.toml", PARAMETERS)


def judge(rule: str, run: Run, policy: Policy | None = None, **parameters: Any) -> Verdict:
    """Return the verdict of one rule, which has the level error."""
    policy = policy or Policy(levels={rule: "error"}, parameters={rule: parameters})
    (verdict,) = Judge(policy).verdicts(run, lambda each: each == rule)
    return verdict


def messages(rule: str, *steps: Any, **parameters: Any) -> list[str]:
    """Return the messages of the findings of one rule about a run of steps."""
    return [finding.message for finding in judge(rule, make_run(*steps), **parameters).findings]


def checked(*findings, name="run", status="fail", level="error", sources=(), **fields):
    """Return a check of one run with one verdict."""
    verdict = Verdict("ours/x", level, status, "why" if status == "unknown" else "", findings)
    run = CheckedRun(name=name, conversation=None, title=None, calls=1, verdicts=(verdict,), sources=sources)
    return Checked(runs=(run,), **fields)
