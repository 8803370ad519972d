"""Blocks of content as parts."""

from __future__ import annotations

import pytest

from scopes.importers.formats.claude_parts import read_part
from tests.importers.formats.claude_code.logs import call, text, thinking


def image(kind="image", **source):
    return {"type": kind, "source": {"type": "base64", "media_type": "image/png", "data": "aGk="} | source}


@pytest.mark.parametrize(
    ("block", "kind", "fields"),
    [
        (text(""), "text", {"text": ""}),
        (text("\ud800 \u202e \x00"), "text", {"text": "\ud800 \u202e \x00"}),
        (thinking("Hm", "c2ln"), "reasoning", {"text": "Hm", "opaque": "c2ln"}),
        (thinking("", "c2ln"), "reasoning", {"text": "", "opaque": "c2ln"}),
        ({"type": "thinking", "thinking": "Hm"}, "reasoning", {"text": "Hm"}),
        ({"type": "redacted_thinking", "data": "eHl6"}, "reasoning", {"opaque": "eHl6"}),
        (call("c1", "Bash", command="ls"), "tool_call", {"call_id": "c1", "name": "Bash", "input": {"command": "ls"}}),
        (call("c1") | {"id": 7, "input": "ls"}, "tool_call", {"name": "Bash", "input": "ls"}),
        (
            call("c1") | {"type": "server_tool_use"},
            "tool_call",
            {"call_id": "c1", "name": "Bash", "input": {"command": "ls"}},
        ),
        (image(), "image", {"media_type": "image/png", "data": "aGk="}),
        (image(type="url", url="https://example.org/a.png"), "image", {"path": "https://example.org/a.png"}),
        (
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": "Tea"},
            "tool_result",
            {"call_id": "s1", "output": "Tea"},
        ),
        (image("document", media_type="application/pdf"), "file", {"media_type": "application/pdf", "data": "aGk="}),
    ],
)
def test_a_known_block_is_a_part(block, kind, fields):
    part = read_part(block)
    assert (part.type, part.fields) == (kind, fields)


@pytest.mark.parametrize(
    "block",
    [
        "just text", 7, None, [], {}, {"type": "text"}, {"type": "text", "text": 7}, {"type": ["text"], "text": "x"},
        {"type": "tool_use", "id": "c1"}, {"type": "tool_use", "name": None}, {"type": "thinking", "thinking": None},
        image(type="url"), {"type": "image"}, {"type": "web_search_tool_result", "content": []},
    ],
)  # fmt: skip
def test_an_unknown_block_is_kept_raw(block):
    part = read_part(block)
    assert (part.type, part.fields) == ("raw", {"json": block})
