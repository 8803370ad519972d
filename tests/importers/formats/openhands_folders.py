"""Folders with a file for each event, as the SDK and OpenHands before 1.0 make them, and events of the latter."""

from __future__ import annotations

import json

from tests.importers.formats.test_openhands import EVENTS

CONVERSATION = "0123456789abcdef0123456789abcdef"
NATIVE_ID = "01234567-89ab-cdef-0123-456789abcdef"
STATE = {
    "id": NATIVE_ID, "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/repo", "kind": "LocalWorkspace"},
    "tags": {"title": "Fix the limit"},
}  # fmt: skip


def write(folder, name, value):
    """Write a file, as JSON unless it is a text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def sdk_folder(top, events=EVENTS, name=CONVERSATION, state=STATE):
    """Make the folder of a conversation of the SDK."""
    folder = top / name
    write(folder, "base_state.json", state)
    for number, event in enumerate(events):
        write(folder, f"events/event-{number:05d}-{number:08d}-0000-4000-8000-000000000000.json", event)
    return folder


def old_folder(top, events=None, name="5f3a"):
    """Make the folder of a session of OpenHands before 1.0."""
    folder = top / name
    write(folder, "metadata.json", {"conversation_id": name, "title": "An old one", "selected_repository": "a/b"})
    write(folder, "init.json", {"token": "of the user"})
    for number, event in enumerate(OLD_EVENTS if events is None else events):
        write(folder, f"events/{number}.json", event)
    write(folder, "event_cache/0-25.json", OLD_EVENTS)
    return folder


def action(number, kind, source="agent", metadata=None, **args):
    event = {
        "id": number,
        "timestamp": f"2025-06-16T05:39:{number:02}.5",
        "source": source,
        "message": "m",
        "action": kind,
    }
    return {**event, "args": args, **({} if metadata is None else {"tool_call_metadata": metadata})}


def observation(number, kind, content, cause=None, called=None, **extras):
    event = {"id": number, "timestamp": f"2025-06-16T05:39:{number:02}.5", "source": "agent", "message": "m"}
    event |= {"observation": kind, "content": content, "extras": extras}
    event |= {} if cause is None else {"cause": cause}
    return event | ({} if called is None else {"tool_call_metadata": called})


def metadata(call, name, arguments, response="r1", content="I edit."):
    """Return what an event says of the response of the model that it belongs to."""
    made = {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": content, "tool_calls": [made]}
    answer = {"id": response, "model": "claude-x", "choices": [{"index": 0, "message": message}]}
    return {"function_name": name, "tool_call_id": call, "model_response": answer, "total_calls_in_response": 2}


def metrics(given, output, cached=0):
    usage = {"model": "claude-x", "prompt_tokens": given, "completion_tokens": output, "cache_read_tokens": cached}
    return {"llm_metrics": {"accumulated_cost": 0.1, "accumulated_token_usage": usage}}


EDIT = {"command": "str_replace", "path": "/repo/app.py", "old_str": "a", "new_str": "b"}
EDITED, RUN = metadata("c1", "str_replace_editor", EDIT), metadata("c2", "execute_bash", {"command": "pytest"})
OLD_EVENTS = [
    action(0, "system", content="You are OpenHands", tools=[]),
    action(1, "message", "user", content="Fix app.py", image_urls=[], wait_for_response=False),
    action(2, "recall", "user", query="Fix app.py", recall_type="workspace_context"),
    observation(3, "recall", "", cause=2, recall_type="workspace_context"),
    {**action(4, "edit", metadata=EDITED, path="/repo/app.py", thought="I edit."), **metrics(500, 20, 100)},
    {**action(5, "run", metadata=RUN, command="pytest", thought=""), **metrics(500, 20, 100)},
    observation(6, "edit", "edited", 4, EDITED, path="/repo/app.py"),
    observation(7, "run", "1 failed", 5, RUN, command="pytest", metadata={"exit_code": 1, "working_dir": "/repo"}),
    observation(8, "agent_state_changed", "", agent_state="running"),
    {**action(9, "message", content="Done.", wait_for_response=True), **metrics(1100, 50, 600)},
]
