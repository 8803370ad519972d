"""Make runs from a few words: what an agent called, and what came back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scopes.check.check import Checked, check
from scopes.check.policy import Policy
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.handles import resolve_scope
from scopes.history.messages import plain_message
from scopes.model.message import Author, Part


def run_of(repository, *steps: Any, cwd: str | None = None) -> str:
    """Append steps to a new conversation and return its id.

    A text is the agent's answer. (name, input, result) is a tool call with its result: an exit code, a text, the
    fields of a result, or None for a call without a result.
    """
    conversation = new(repository, directory=cwd).id
    append(repository, conversation, plain_message(Author("carol", "human"), "Do it."))
    for number, step in enumerate(steps):
        if isinstance(step, str):
            append(repository, conversation, plain_message("coder", step))
            continue
        name, given, result = step
        call = Part("tool_call", {"call_id": f"c{number}", "name": name, "input": given})
        append(repository, conversation, replace(plain_message("coder", ""), parts=(call,), kind="answer"))
        if result is not None:
            append(repository, conversation, _result(f"c{number}", result))
    return conversation


def shell(command: str, code: int | None = 0) -> tuple[str, dict[str, str], int | str | None]:
    """Return a step that runs a command line; without a code its result has none."""
    return "Bash", {"command": command}, "done" if code is None else code


def edit(path: str, result: int | str | None = "updated") -> tuple[str, dict[str, str], int | str | None]:
    """Return a step that edits a file."""
    return "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, result


def judge(repository, conversation: str, policy: Policy | None = None, **options: Any) -> Checked:
    """Check one conversation."""
    scopes = [(conversation, resolve_scope(repository, conversation))]
    return check(repository, scopes, policy or Policy(), **options)


def verdict_of(checked: Checked, rule: str) -> tuple[str, str]:
    """Return status and reason, or the message of the first finding, of a rule."""
    (verdict,) = (each for run in checked.runs for each in run.verdicts if each.rule == rule)
    return verdict.status, verdict.findings[0].message if verdict.findings else verdict.reason


def _result(call_id: str, result: int | str | dict[str, Any]) -> Any:
    fields: dict[str, Any] = {"call_id": call_id, "output": "output" if isinstance(result, int) else result}
    fields |= result if isinstance(result, dict) else {}
    if isinstance(result, int):
        fields |= {"exit_code": result, "is_error": result != 0}
    message = plain_message(Author("tool", "tool"), "")
    return replace(message, parts=(Part("tool_result", fields),), kind="tool-results")
