"""Small event streams and session files of headless agents, in the shape that the real programs write."""

from __future__ import annotations

import json
from typing import Any

CWD = "/home/dev/project"
THREAD = "019d0001-2222-7222-8222-222222222222"
GEMINI = "053a415d-409a-4f1e-ab5a-baa539f15cfe"
OPENCODE = "ses_dfea42651ffek7xpPpo6GsqVce"
QWEN = "0eb55570-1c30-460e-aea0-7dea2ef02f66"
PI = "01a2015d-a8dd-7092-a151-c8fd1affa76b"
TESTS = "python3 -m unittest -q test_app.py"
PATCH = "*** Begin Patch\n*** Update File: app.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n"
DENIED = "The user has specified a rule which prevents you from using this specific tool call. [...]"
API_ERROR = "[API Error: 400 stub: model is not available]"
USAGE = {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 10}


def lines(*records: Any) -> str:
    """Return records as lines of JSON."""
    return "".join(json.dumps(record) + "\n" for record in records)


def codex_stream(*steps: tuple[Any, ...], error: str | None = None) -> str:
    """Return what `codex exec --json` prints: steps are ("run", command, code), ("patch",), ("text", words)."""
    items = []
    for number, (kind, *values) in enumerate(step for step in steps if step[0] not in {"refused", "refused patch"}):
        if kind == "run":
            words = f'/bin/bash -lc "{values[0]}"'
            fields = {"type": "command_execution", "command": words, "aggregated_output": "", "exit_code": values[1]}
            item = {**fields, "status": "failed" if values[1] else "completed"}
        elif kind == "patch":
            changes = [{"path": f"{CWD}/app.py", "kind": "update"}]
            item = {"type": "file_change", "changes": changes, "status": "completed"}
        else:
            item = {"type": "agent_message", "text": values[0]}
        items.append({"type": "item.completed", "item": {"id": f"item_{number}", **item}})
    end = [{"type": "turn.completed", "usage": USAGE}]
    if error is not None:
        end = [{"type": "error", "message": error}, {"type": "turn.failed", "error": {"message": error}}]
    return lines({"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}, *items, *end)


def codex_rollout(*steps: tuple[Any, ...]) -> str:
    """Return the session file of Codex with the same steps; ("refused", tool) and ("refused patch",) are only there."""
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": THREAD, "timestamp": "2026-04-11T09:59:59.000Z", "cwd": CWD, "source": "exec"}),
        ("turn_context", {"turn_id": "019d0000-3333-7333-8333-333333333333", "cwd": CWD, "model": "gpt-5.5"}),
        ("response_item", _message_of("user", "input_text", "Fix add() in app.py and run the tests.")),
    ]
    for number, (kind, *values) in enumerate(steps):
        name = f"call_{number}"
        if kind == "text":
            payloads.append(("response_item", _message_of("assistant", "output_text", values[0])))
            continue
        if kind in {"patch", "refused patch"}:
            call = {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "status": "completed"}
            output = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM app.py\n"
            if kind == "refused patch":
                output = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
        elif kind == "refused":
            call, output = (
                {"type": "function_call", "name": values[0], "arguments": "{}"},
                f"unsupported call: {values[0]}",
            )
        else:
            given = json.dumps({"cmd": values[0]})
            call = {"type": "function_call", "name": "exec_command", "arguments": given}
            output = f"Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code {values[1]}\nOutput:\n"
        payloads.append(("response_item", {**call, "call_id": name}))
        payloads.append(("response_item", {"type": f"{call['type']}_output", "call_id": name, "output": output}))
    return lines(
        *(
            {"timestamp": f"2026-04-11T10:00:{number:02}.000Z", "type": kind, "payload": payload}
            for number, (kind, payload) in enumerate(payloads)
        )
    )


def _message_of(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def gemini_stream(*records: dict[str, Any], session: str = GEMINI) -> str:
    """Return what `gemini -p -o stream-json` prints."""
    numbered = ({"timestamp": _time(number), **record} for number, record in enumerate(records, 2))
    first = {"type": "init", "timestamp": _time(0), "session_id": session, "model": "gemini-2.5-pro"}
    prompt = {"type": "message", "timestamp": _time(1), "role": "user", "content": "Run the tests."}
    return lines(first, prompt, *numbered)


def gemini_session(*records: dict[str, Any], session: str = GEMINI) -> str:
    """Return the chat file of Gemini CLI."""
    header = {
        "sessionId": session,
        "projectHash": "1afb",
        "startTime": _time(0),
        "lastUpdated": _time(0),
        "kind": "main",
    }
    prompt = {"id": "p", "timestamp": _time(1), "type": "user", "content": [{"text": "Run the tests."}]}
    return lines(header, prompt, *({"timestamp": _time(number), **each} for number, each in enumerate(records, 2)))


def _time(number: int) -> str:
    return f"2026-11-22T03:44:18.{number:03}Z"


_CALL = "run_shell_command__run_shell_command_1"
_RESPONSE = {
    "functionResponse": {
        "id": _CALL, "name": "run_shell_command",
        "response": {"output": "<untrusted_context>\nOutput: FAILED\nExit Code: 1\n</untrusted_context>"},
    }
}  # fmt: skip
GEMINI_TOOLFAIL = {
    "stdout.jsonl": gemini_stream(
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": _CALL, "parameters": {"command": TESTS}},
        {"type": "tool_result", "tool_id": _CALL, "status": "success", "output": "FAILED"},
        {"type": "message", "role": "assistant", "content": "Tests fail; I stopped.", "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 2, "duration_ms": 9}},
    ),
    "session-1.jsonl": gemini_session(
        {
            "id": "a", "type": "gemini", "content": "", "model": "gemini-2.5-pro",
            "toolCalls": [{
                "id": _CALL, "name": "run_shell_command", "args": {"command": TESTS}, "status": "success",
                "result": [_RESPONSE],
            }],
        },
        {"id": "r", "type": "user", "content": [_RESPONSE]},
        {"id": "b", "type": "gemini", "content": "Tests fail; I stopped.", "model": "gemini-2.5-pro"},
    ),
}  # fmt: skip
GEMINI_FAIL = {
    "stdout.jsonl": gemini_stream(
        {"type": "result", "status": "error", "error": {"type": "unknown", "message": API_ERROR}, "stats": {}},
    ),
    "session-1.jsonl": gemini_session(),
}
GEMINI_FAIL_JSON = {
    "stderr.log": "Warning: Basic terminal detected (TERM=dumb).\n"
    + json.dumps({"session_id": GEMINI, "error": {"type": "Error", "message": "400", "code": 400}}, indent=2)
    + "\n",
    "session-1.jsonl": gemini_session(),
}


def opencode_stream(*records: dict[str, Any]) -> str:
    """Return what `opencode run --format json` prints; records have a part, or an error."""
    envelope = [
        {"timestamp": 1795319128714 + number, "sessionID": OPENCODE, **record} for number, record in enumerate(records)
    ]
    for record in envelope:
        if "part" in record:
            record["part"] = {**record["part"], "sessionID": OPENCODE}
    return lines(*envelope)


def opencode_export(*parts: dict[str, Any], **info: Any) -> str:
    """Return what `opencode export` prints about a prompt and one answer."""
    time = {"created": 1795319127433, "completed": 1795319128873}
    answer = {
        "role": "assistant",
        "id": "msg_2",
        "path": {"cwd": CWD},
        "modelID": "m",
        "providerID": "stub",
        "time": time,
    }
    prompt = {"role": "user", "id": "msg_1", "time": {"created": 1795319126518}, "sessionID": OPENCODE}
    text = {"type": "text", "text": "Push the branch.", "id": "prt_0", "sessionID": OPENCODE, "messageID": "msg_1"}
    session = {"id": OPENCODE, "directory": CWD, "version": "1.18.33", "time": {"created": 1795319126446}}
    messages = [
        {"info": prompt, "parts": [text]},
        {
            "info": {**answer, "sessionID": OPENCODE, **info},
            "parts": [{**part, "sessionID": OPENCODE} for part in parts],
        },
    ]
    return json.dumps({"info": session, "messages": messages}, indent=2)


_PUSH = {
    "type": "tool", "tool": "bash", "callID": "call_1", "id": "prt_1", "messageID": "msg_2",
    "state": {"status": "error", "input": {"command": "git push origin main"}, "error": DENIED},
}  # fmt: skip
_TEXT = {"type": "text", "id": "prt_2", "messageID": "msg_2", "text": "The push was not permitted."}
_STOP = {"type": "step-finish", "id": "prt_3", "messageID": "msg_2", "reason": "stop", "cost": 0.1}
_ERROR = {"name": "APIError", "data": {"message": "stub: model is not available", "statusCode": 400}}
OPENCODE_DENIED = {
    "events.jsonl": opencode_stream(
        {"type": "tool_use", "part": _PUSH}, {"type": "text", "part": _TEXT}, {"type": "step_finish", "part": _STOP}
    ),
    "export.json": opencode_export(_PUSH, _TEXT, _STOP, finish="stop"),
}
OPENCODE_FAIL = {
    "events.jsonl": opencode_stream({"type": "error", "error": _ERROR}),
    "export.json": opencode_export(error=_ERROR),
}
QWEN_FAIL = {
    "stdout.jsonl": lines(
        {"type": "system", "subtype": "init", "uuid": QWEN, "session_id": QWEN, "cwd": CWD, "qwen_code_version": "0.15"},
        {
            "type": "assistant", "uuid": "u1", "session_id": QWEN, "parent_tool_use_id": None,
            "message": {"id": "u1", "role": "assistant", "content": [{"type": "text", "text": API_ERROR}]},
        },
        {
            "type": "result", "subtype": "success", "uuid": "u2", "session_id": QWEN, "is_error": False, "num_turns": 1,
            "result": API_ERROR, "permission_denials": [],
        },
    ),
    "chat-1.jsonl": lines(
        {
            "uuid": "c1", "parentUuid": None, "sessionId": QWEN, "timestamp": _time(1), "type": "user", "cwd": CWD,
            "version": "0.15.10", "message": {"role": "user", "parts": [{"text": "Fix add()."}]},
        }
    ),
}  # fmt: skip
_PI_HEADER = {"type": "session", "version": 3, "id": PI, "timestamp": _time(0), "cwd": CWD}
_PI_PROMPT = {"role": "user", "content": [{"type": "text", "text": "Fix add()."}], "timestamp": 1795319245049}
_PI_ERROR = {
    "role": "assistant", "content": [], "model": "m", "stopReason": "error", "errorMessage": "400 stub: no model",
    "timestamp": 1795319245149,
}  # fmt: skip
PI_FAIL = {
    "events.jsonl": lines(
        _PI_HEADER,
        {"type": "agent_start"},
        {"type": "message_end", "message": _PI_PROMPT},
        {"type": "message_end", "message": _PI_ERROR},
        {"type": "agent_end", "messages": [_PI_PROMPT, _PI_ERROR]},
    ),
    "2026-1.jsonl": lines(
        _PI_HEADER,
        {"type": "message", "id": "m1", "parentId": None, "timestamp": _time(1), "message": _PI_PROMPT},
        {"type": "message", "id": "m2", "parentId": "m1", "timestamp": _time(2), "message": _PI_ERROR},
    ),
}
