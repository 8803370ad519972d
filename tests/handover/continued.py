"""What agents add to a session of theirs: one more prompt and an answer, in the shape of each."""

from __future__ import annotations

import json

TIME = "2026-03-02T09:00:00.000Z"
CONTEXT = "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"


def go_on(name, path, prompt="and the tests?", answer="they pass"):
    """Add a prompt and an answer to the file of a session; OpenCode writes its document anew."""
    with open(path, "rb") as file:
        data = file.read()
    records = json.loads(data)["messages"] if name == "opencode" else [json.loads(line) for line in data.splitlines()]
    asked, answered = (f"n{len(records)}{end}" for end in "ab")
    with open(path, "wb") as file:
        file.write(_ADD[name](data, records, (asked, prompt), (answered, answer)))


def _append(data, *records):
    return data + b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _blocks(words):
    return [{"type": "text", "text": words}]


def _codex(data, _, prompt, answer):
    def item(role, kind, words):
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
        return {"timestamp": TIME, "type": "response_item", "payload": payload}

    events = [{"type": "task_started", "turn_id": "t1"}, {"type": "token_count", "info": None}]
    started = [{"timestamp": TIME, "type": "event_msg", "payload": payload} for payload in events]
    asked = [item("user", "input_text", words) for words in (CONTEXT, prompt[1])]
    return _append(data, *started, *asked, item("assistant", "output_text", answer[1]))


def _claude_code(data, records, prompt, answer):
    last = [each for each in records if "uuid" in each][-1]
    base, message = {**last, "timestamp": TIME}, {"role": "user", "content": prompt[1]}
    asked = {**base, "type": "user", "uuid": prompt[0], "parentUuid": last["uuid"], "message": message}
    message = {"id": f"msg_{answer[0]}", "role": "assistant", "model": "m", "content": _blocks(answer[1])}
    return _append(
        data, asked, {**base, "type": "assistant", "uuid": answer[0], "parentUuid": prompt[0], "message": message}
    )


def _gemini(data, records, prompt, answer):
    """Gemini CLI writes all messages again before it goes on, with the results as messages of their own."""

    def user(name, content):
        return {"id": name, "type": "user", "timestamp": TIME, "content": content}

    messages = [each for each in records if "type" in each]
    calls = [(each["id"], call) for each in messages for call in each.get("toolCalls", ())]
    again = [user(f"{name}_response", call["result"]) for name, call in calls]
    context = user("c", [{"text": "<session_context>\n</session_context>"}])
    answered = {"id": answer[0], "type": "gemini", "timestamp": TIME, "content": answer[1]}
    written = {"$set": {"messages": [context, *messages, *again]}}
    return _append(data, written, user(prompt[0], [{"text": prompt[1]}]), answered)


def _llm(data, records, prompt, answer):
    """The thread, which comes first, names the newest message."""
    parent = records[0]["row"]["tip_message_hash"]
    records[0]["row"]["tip_message_hash"] = answer[0]
    added = []
    for role, (name, words) in (("user", prompt), ("assistant", answer)):
        added.append(("messages", {"hash": name, "parent_hash": parent, "role": role}))
        added.append(("parts", {"message_hash": name, "position": 0, "text": words, "type": "text"}))
        parent = name
    added.append(("turns", {"datetime_utc": TIME, "id": f"t{prompt[0]}", "model": "m", "tip_message_hash": parent}))
    rows = [{"table": table, "row": row} for table, row in added]
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in [*records, *rows])


def _opencode(data, records, prompt, answer):
    document = json.loads(data)
    for role, (name, words) in (("user", prompt), ("assistant", answer)):
        info = {"id": f"msg_1f{len(records):010x}{name}", "role": role, "time": {"created": 1772442000000}}
        document["messages"].append({"info": info, "parts": _blocks(words)})
    return json.dumps(document, indent=2).encode()


def _pi(data, records, prompt, answer):
    def record(name, parent, role, words):
        message = {"role": role, "content": _blocks(words)}
        return {"type": "message", "id": name, "parentId": parent, "timestamp": TIME, "message": message}

    asked = record(prompt[0], records[-1]["id"], "user", prompt[1])
    return _append(data, asked, record(answer[0], prompt[0], "assistant", answer[1]))


def _qwen(data, records, prompt, answer):
    def record(kind, name, parent, role, words):
        message = {"role": role, "parts": [{"text": words}]}
        return {**base, "type": kind, "uuid": name, "parentUuid": parent, "timestamp": TIME, "message": message}

    base = records[-1]
    asked = record("user", prompt[0], base["uuid"], "user", prompt[1])
    return _append(data, asked, record("assistant", answer[0], prompt[0], "model", answer[1]))


_ADD = {
    "claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "llm": _llm, "opencode": _opencode, "pi": _pi,
    "qwen": _qwen,
}  # fmt: skip
