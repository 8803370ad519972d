"""Databases in the shapes that readers of Cursor's stores have published; no real Cursor has written them."""

from __future__ import annotations

import json
from hashlib import sha256

from scopes.importers.formats.cursor_editor import encode_cells
from tests.importers.databases import make_database

EDITOR = """
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
"""
CHATS = "CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);"
COMPOSER = "0f6c1f6e-6f0e-4c49-9f4e-1d7d3f6f2a10"
CHAT = "a1b2c3d4-e5f6-4890-abcd-ef1234567890"
STARTED = 1_795_243_700_000  # milliseconds
SECRET = "c2VjcmV0IG9mIEN1cnNvcg=="


def value_row(key, value, table="cursorDiskKV"):
    """Return a row with a value, which Cursor keeps as bytes of JSON."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return (table, {"key": key, "value": text.encode()})


def bubble(number, kind, text="", **fields):
    """Return a bubble: `kind` is 1 for the user and 2 for the agent."""
    time = f"2026-11-21T10:00:{number:02d}.000Z"
    return {"_v": 3, "type": kind, "bubbleId": f"b{number}", "text": text, "createdAt": time, **fields}


def tool(number, name, arguments, result, status="completed", **fields):
    """Return a bubble with a call; its arguments and its result are JSON in strings."""
    call = {
        "tool": 1,
        "name": name,
        "toolCallId": f"toolu_{number}",
        "status": status,
        "rawArgs": json.dumps(arguments),
    }
    call |= {"params": "", "result": result if isinstance(result, str) else json.dumps(result), **fields}
    return bubble(number, 2, toolFormerData=call)


def composer(*bubbles, name=COMPOSER, listed=None, **fields):
    """Return the value of a conversation that lists bubbles."""
    ids = [each["bubbleId"] for each in bubbles] if listed is None else listed
    return {
        "_v": 10, "composerId": name, "name": "Limit the log-ins", "createdAt": STARTED, "status": "completed",
        "blobEncryptionKey": SECRET, "workspaceIdentifier": {"uri": {"fsPath": "/home/carol/shop"}},
        "fullConversationHeadersOnly": [{"bubbleId": each, "type": 1} for each in ids], **fields,
    }  # fmt: skip


def editor_rows(*bubbles, name=COMPOSER, **fields):
    """Return the rows of a conversation."""
    rows = [value_row(f"composerData:{name}", composer(*bubbles, name=name, **fields))]
    return rows + [value_row(f"bubbleId:{name}:{each['bubbleId']}", each) for each in bubbles]


def editor_database(path, *rows, **options):
    """Make a database of the editor."""
    return make_database(path, EDITOR, rows, **options)


BUBBLES = [
    bubble(1, 1, "limit the log-ins", modelInfo={"modelName": "claude-4.5-opus"}),
    bubble(2, 2, thinking={"text": "first the limit"}),
    bubble(3, 2, "I read it.", tokenCount={"inputTokens": 900, "outputTokens": 40}),
    tool(4, "read_file", {"target_file": "login.py"}, {"contents": "LIMIT = 0"}),
    tool(5, "search_replace", {"file_path": "login.py", "old_string": "0", "new_string": "5"}, {"success": True}),
    bubble(6, 2, "Now the tests."),
    tool(7, "run_terminal_cmd", {"command": "pytest -q"}, {"output": "1 failed", "exitCode": 1}),
    bubble(8, 2, "One is red."),
    bubble(9, 1, "why?"),
    bubble(10, 2, "The limit is 5."),
]


def varint(number):
    """Write a number as protobuf does."""
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def field(number, content):
    """Write a field of a protobuf message with bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def blob(content):
    """Return the id and the bytes of a blob: JSON, or what it is given as."""
    data = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
    return sha256(data).hexdigest(), data


def chat_rows(*messages, others=(), workspace="file:///home/carol/shop", **about):
    """Return the rows of a chat: `others` are blobs that the root names as its turns."""
    blobs, turns = [blob(each) for each in messages], [blob(each) for each in others]
    root = b"".join(field(1, bytes.fromhex(name)) for name, _ in blobs) + b"\x28\x07"
    root += b"".join(field(8, bytes.fromhex(name)) for name, _ in turns) + field(9, workspace.encode())
    name, data = blob(root)
    meta = {
        "agentId": CHAT, "latestRootBlobId": name, "name": "Limit the log-ins", "createdAt": STARTED,
        "mode": "default", "lastUsedModel": "composer-2.5", "blobEncryptionKey": SECRET, **about,
    }  # fmt: skip
    rows = [("blobs", {"id": each, "data": content}) for each, content in [*blobs, *turns, (name, data)]]
    return [*rows, ("meta", {"key": "0", "value": json.dumps(meta).encode().hex()})]


def chat_lines(*rows):
    """Return the lines of the rows of a chat: what it is, its root, and its messages."""
    *blobs, root, (_, meta) = rows
    about = {"key": meta["key"], "value": bytes.fromhex(meta["value"])}
    return [encode_cells("meta", about), *(encode_cells(*row) for row in (root, *blobs))]


def chat_database(path, *rows, **options):
    """Make a database of a chat of the command line."""
    return make_database(path, CHATS, rows, **options)


def typed(text, request="r1"):
    content = [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}]
    return {"role": "user", "content": content, "providerOptions": {"cursor": {"requestId": request}}}


def called(number, name, arguments, *before):
    call = {"type": "tool-call", "toolCallId": f"call_{number}", "toolName": name, "args": arguments}
    return {"role": "assistant", "id": str(number), "content": [*before, call]}


def returned(number, name, result, **flags):
    block = {"type": "tool-result", "toolCallId": f"call_{number}", "toolName": name, "result": result}
    options = {"cursor": {"highLevelToolCallResult": {"isError": False, **flags}}}
    return {"role": "tool", "id": f"call_{number}", "content": [block], "providerOptions": options}


MODEL = {"cursor": {"modelName": "composer-2.5"}}
THOUGHT = {"type": "reasoning", "text": "first the limit", "signature": "sig", "providerOptions": MODEL}
MESSAGES = [
    {"role": "system", "content": "You are a coding assistant"},
    {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>"},
    typed("limit the log-ins"),
    called(1, "StrReplace", {"path": "login.py", "old_string": "0", "new_string": "5"}, THOUGHT),
    returned(1, "StrReplace", "The file was changed."),
    called(2, "Shell", {"command": "pytest -q"}),
    returned(2, "Shell", "Exit code: 1\n\nCommand output:\n1 failed"),
    {"role": "assistant", "content": [{"type": "text", "text": "One is red."}]},
    typed("why?", "r2"),
    {
        "role": "assistant",
        "content": [{"type": "redacted-reasoning", "data": "b3BhcXVl"}, {"type": "text", "text": "5."}],
    },
]
