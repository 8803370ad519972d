"""Write transcripts of Claude Code with a few calls, and run `scopes check` on them in this process."""

from __future__ import annotations

import json
from typing import Any

from scopes.cli.main import main
from scopes.cli.table import TABLE

DIRECTORY = "/home/dev/shop"


def write_session(path, *steps: Any, directory: str = DIRECTORY, session: str = "s1", tokens: int = 10):
    """Write a session and return its path: line 1 is the prompt, and each step has a line for the call and one for the result.

    A step is (name, input, result): an exit code, or a text; a text alone is an answer, on one line. An answer ends the
    session: after a call, one is added.
    """
    if steps and not isinstance(steps[-1], str):
        steps = (*steps, "That was all.")
    records: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "Do it."}}]
    for number, step in enumerate(steps):
        if isinstance(step, str):
            content: list[dict[str, Any]] = [{"type": "text", "text": step}]
        else:
            content = [{"type": "tool_use", "id": f"toolu_{number}", "name": step[0], "input": step[1]}]
        usage = {"input_tokens": tokens, "output_tokens": 5}
        answer = {"role": "assistant", "id": f"msg_{number}", "model": "claude-x", "content": content, "usage": usage}
        records.append({"type": "assistant", "message": answer})
        if not isinstance(step, str):
            failed = isinstance(step[2], int) and step[2] != 0
            text = f"Exit code {step[2]}" if failed else "done"
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text, "is_error": failed}
            records.append({"type": "user", "message": {"role": "user", "content": [result]}})
    lines = []
    for number, record in enumerate(records):
        common = {
            "uuid": f"{session}-{number}", "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session, "timestamp": f"2026-03-01T10:00:{number:02}.000Z", "cwd": directory,
            "version": "2.1.70", "isSidechain": False, "userType": "external",
        }  # fmt: skip
        lines.append(json.dumps(common | record))
    path.write_text("\n".join(lines) + "\n")
    return path


def run_check(capsys, *words: Any) -> tuple[int, str]:
    """Run `scopes check` and return the exit code and the output, with the error if there is one."""
    return _run(capsys, "check", *words)


def run_diff(capsys, *words: Any) -> tuple[int, str]:
    """Run `scopes diff`, which compares runs, and return the same."""
    return _run(capsys, "diff", *words)


def _run(capsys, *words: Any) -> tuple[int, str]:
    code = main([*map(str, words)], TABLE)
    shown = capsys.readouterr()
    return code, shown.out + shown.err
