"""Inputs of Cursor's hooks in the shapes of cursor.com/docs/agent/hooks; no real Cursor has written them."""

from __future__ import annotations

import json

CONVERSATION = "668320d2-2fd8-4888-b33c-2a466fec86e7"
TURN = "490b90b7-a2ce-4c2c-bb76-cb77b125df2f"
EDIT = {"old_string": "LIMIT = 0", "new_string": "LIMIT = 5"}


def hook_input(name, generation=TURN, conversation=CONVERSATION, root="/work/shop", **fields):
    """Return what Cursor tells a hook."""
    common = {"conversation_id": conversation, "generation_id": generation, "hook_event_name": name, "model": "gpt-5"}
    return {**common, "cursor_version": "2.0.77", "workspace_roots": [root], **fields}


def prompt(text="limit the log-ins", **fields):
    return hook_input("beforeSubmitPrompt", **{"prompt": text, "attachments": [], **fields})


def edit(**fields):
    return hook_input("afterFileEdit", **{"file_path": "/work/shop/login.py", "edits": [EDIT], **fields})


def shell(**fields):
    return hook_input(
        "afterShellExecution", **{"command": "pytest -q", "output": "3 passed", "duration": 150, **fields}
    )


def mcp(**fields):
    call = {"tool_name": "query", "tool_input": '{"sql": "select 1"}', "result_json": '{"rows": [1]}'}
    return hook_input("afterMCPExecution", **{**call, **fields})


def thought(text="first the limit", **fields):
    return hook_input("afterAgentThought", **{"text": text, "duration_ms": 5000, **fields})


def response(text="done", **fields):
    return hook_input("afterAgentResponse", **{"text": text, **fields})


def stop(status="completed", **fields):
    return hook_input("stop", **{"status": status, "loop_count": 0, **fields})


def turn(number=1, **fields):
    """Return the inputs of a whole turn."""
    fields = {"generation": f"generation-{number}", **fields}
    return [
        prompt(f"prompt {number}", **fields), thought(**fields), edit(**fields), shell(**fields),
        response(f"answer {number}", **fields), stop(**fields),
    ]  # fmt: skip


def journal(*inputs):
    """Return the lines that `hooks run cursor` writes for inputs, one second apart."""
    lines = [
        {"scopes_hook": "cursor", "time": f"2026-01-01T10:00:{second:02d}Z", "input": given}
        for second, given in enumerate(inputs)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
