"""Session files of Copilot CLI, in the shape of real ones."""

from __future__ import annotations

import json

SESSION = "0f6b2c7e-3a55-4a0e-9a7e-0d1c2b3a4f5e"
CONTEXT = {"cwd": "/home/dev/shop", "gitRoot": "/home/dev/shop", "branch": "main"}
START = (
    "session.start",
    {"sessionId": SESSION, "copilotVersion": "1.0.77", "selectedModel": "m-1", "context": CONTEXT},
)
PROMPT = ("user.message", {"content": "List the files", "attachments": []})


def call(name, tool="bash", **arguments):
    return {"type": "function", "toolCallId": name, "name": tool, "arguments": arguments}


def answer(text="", *calls, **fields):
    return "assistant.message", {"content": text, "toolRequests": list(calls), **fields}


def result(name, output="ok", **fields):
    return "tool.execution_complete", {"toolCallId": name, "success": True, "result": {"content": output}, **fields}


def events(*pairs):
    """Return the events of a file; each names the one before it."""
    found, parent = [], None
    for number, (kind, data) in enumerate(pairs, 1):
        time = f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z"
        found.append({"type": kind, "data": data, "id": f"e{number}", "timestamp": time, "parentId": parent})
        parent = f"e{number}"
    return found


def lines(records):
    return b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for record in records
    )


PAIRS = (
    START,
    ("session.info", {"infoType": "folder_trust", "message": "trusted"}),
    PROMPT,
    ("assistant.turn_start", {"turnId": "t1", "model": "m-2"}),
    ("assistant.reasoning", {"reasoningId": "r1", "content": "Think."}),
    answer("Listing.", call("c1", command="ls"), call("c2", "view", path="/home/dev/shop/a.py"), messageId="m1", outputTokens=12),
    ("tool.execution_start", {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls"}}),
    result("c1", "a.py\n<exited with exit code 0>"),
    result("c2", "port = 80\n"),
    answer("Done.", messageId="m2", outputTokens=3),
    ("session.shutdown", {"shutdownType": "routine"}),
)  # fmt: skip
FILE = events(*PAIRS)
