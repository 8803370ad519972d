"""Build rollouts in the real format."""

from __future__ import annotations

import json

from scopes.importers.formats.codex import Codex
from tests.importers.reading import drafts, events_of

PARENT = "019d0000-1111-7111-8111-111111111111"
THREAD = "019d0001-2222-7222-8222-222222222222"
OLD_TURN = "019d0000-3333-7333-8333-333333333333"
NEW_TURN = "019d0001-4444-7444-8444-444444444444"
PATCH = "*** Begin Patch\n*** Add File: tea.py\n+PRICE = 4\n*** End Patch\n"


class Rollout:
    """The records of a thread, one second apart."""

    def __init__(self, thread=THREAD, start=0, **meta):
        self.records = []
        self.second = start
        if thread is not None:
            self.meta(thread, **meta)

    def add(self, kind, payload, **envelope):
        self.second += 1
        time = f"2026-04-11T10:{self.second // 60:02d}:{self.second % 60:02d}.000Z"
        self.records.append({"timestamp": time, "type": kind, "payload": payload, **envelope})
        return self

    def meta(self, thread=THREAD, **fields):
        base = {
            "id": thread,
            "timestamp": "2026-04-11T09:59:59.000Z",
            "cwd": "/home/carol/shop",
            "cli_version": "0.118.0",
            "source": "cli",
        }
        return self.add("session_meta", base | fields)

    def item(self, kind, **fields):
        return self.add("response_item", {"type": kind, **fields})

    def event(self, kind, **fields):
        return self.add("event_msg", {"type": kind, **fields})

    def turn(self, name=OLD_TURN, model="gpt-5.4", cwd="/home/carol/shop"):
        self.event("task_started", turn_id=name)
        return self.add("turn_context", {"turn_id": name, "cwd": cwd, "model": model})

    def user(self, *texts, role="user", **fields):
        return self.item(
            "message", role=role, content=[{"type": "input_text", "text": text} for text in texts], **fields
        )

    def say(self, text, phase="commentary", **fields):
        content = [{"type": "output_text", "text": text}]
        self.event("agent_message", message=text)
        return self.item("message", role="assistant", content=content, phase=phase, **fields)

    def think(self, text="Hm"):
        return self.item(
            "reasoning", summary=[{"type": "summary_text", "text": text}], content=None, encrypted_content="c2VhbGVk"
        )

    def call(self, name, tool="exec_command", arguments='{"cmd": "ls"}'):
        return self.item("function_call", name=tool, arguments=arguments, call_id=name)

    def patch(self, name, patch=PATCH):
        return self.item("custom_tool_call", status="completed", call_id=name, name="apply_patch", input=patch)

    def output(self, name, output="tea.py\n", kind="function_call_output"):
        return self.item(kind, call_id=name, output=output)

    def count(self, total, last=None):
        info = {"total_token_usage": total} | ({} if last is None else {"last_token_usage": last})
        return self.event("token_count", info=info)

    def data(self):
        lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in self.records)
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def tokens(given, cached=0, output=0, reasoning=0):
    """Return a usage object as Codex writes it."""
    return {
        "input_tokens": given, "cached_input_tokens": cached, "output_tokens": output, "reasoning_output_tokens": reasoning,
        "total_tokens": given + output,
    }  # fmt: skip


def short_rollout():
    """Return a turn with one tool call."""
    rollout = Rollout().turn().user("Sell tea")
    rollout.think().say("I look first.").call("c1").count(tokens(100, 40, 10, 5), tokens(100, 40, 10, 5))
    return rollout.output("c1").say("Done.", "final_answer").count(tokens(250, 140, 15, 5), tokens(150, 100, 5))


def read(rollout, path="/rollout.jsonl"):
    """Read a rollout or bytes, check the events and return them."""
    return events_of(Codex(), rollout if isinstance(rollout, bytes) else rollout.data(), path)


def messages_of(rollout):
    """Return the messages of a rollout."""
    return drafts(read(rollout))


def closed_messages(rollout):
    """Return the messages that a longer rollout does not change."""
    events = read(rollout)
    found = drafts(events)
    keys = [draft.key for draft in found]
    return found[: keys.index(events[-1].open)] if keys else []


def kinds(rollout):
    """Return the kinds of the messages, as one line."""
    return " ".join(draft.kind for draft in messages_of(rollout))


def texts(draft):
    """Return the texts of a message's parts of any type."""
    return [part.text for part in draft.parts if part.text]
