"""A small file of each format at several moments while it grows, for the laws that hold for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from scopes.importers.formats.collection import encode_file, encode_row
from scopes.importers.formats.cursor_editor import encode_cells
from tests.importers.databases import dialog, response_row, thread_rows
from tests.importers.formats import copilot_sessions as copilot_cli
from tests.importers.formats import openhands_folders as openhands
from tests.importers.formats import test_aider as aider
from tests.importers.formats import (
    test_atif,
    test_chatgpt,
    test_claude_ai,
    test_mini_swe_agent,
    test_opencode_rows,
    test_openhands,
    test_pi,
    test_swe_agent,
)
from tests.importers.formats import test_grok as grok
from tests.importers.formats import test_kimi as kimi
from tests.importers.formats import test_openai as openai
from tests.importers.formats import test_specstory as specstory
from tests.importers.formats.codex.rollouts import short_rollout
from tests.importers.formats.cursor import databases as cursor
from tests.importers.formats.cursor import test_transcripts as cursor_transcript
from tests.importers.formats.cursor.events import journal, turn
from tests.importers.formats.gemini import test_document, test_gemini
from tests.importers.formats.iflow import test_format as iflow
from tests.importers.formats.qwen import test_qwen
from tests.importers.test_robustness import session_log


def lines(records: Sequence[Any]) -> bytes:
    """Write JSON lines without blanks, as rows of databases are written."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def grown_lines(records: Sequence[Any], *counts: int) -> tuple[bytes, ...]:
    """Return a file of JSON lines at some numbers of records, once more with half of the next one, and whole."""
    half = lines(records[: counts[0] + 1])
    sizes = [len(lines(records[:count])) for count in counts]
    middle = (sizes[0] + len(half)) // 2
    return tuple(lines(records)[:size] for size in sorted({*sizes, middle, len(lines(records))}))


def cut_at(data: bytes, *words: bytes) -> tuple[bytes, ...]:
    """Return a file as it was before each of the words was written, and whole."""
    return (*(data[: data.index(word)] for word in words), data)


def written(document: object) -> bytes:
    """Return a document as most agents write it."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")


def grown_document(document: Callable[[int], object], count: int) -> tuple[bytes, ...]:
    """Return a file of one document with some of its records, and with all of them."""
    return tuple(written(document(number)) + b"\n" for number in range(count // 2, count + 1))


def records_of(data: bytes) -> list[Any]:
    """Return the records of JSON lines."""
    return [json.loads(line) for line in data.splitlines()]


def chat(count: int) -> object:
    """Return an export of ChatGPT with the first nodes of a conversation."""
    tree = test_chatgpt.TREE
    return [test_chatgpt.conversation("a", *tree[:count], current=tree[count - 1]["id"])]


LOG = records_of(session_log("a", "b", "c").data())
ROLLOUT = records_of(short_rollout().data())
RESPONSES = [
    records_of(encode_row(*row))[0]
    for row in (("conversations", {"id": "c1", "name": "x", "model": "m"}), response_row(1, "why?", "so"), response_row(2, "And?", "no"))
]  # fmt: skip
THREAD = [
    records_of(encode_row(*row))[0]
    for row in thread_rows("t1", ("h1", None, "user", "hi"), ("h2", "h1", "assistant", "ho"))
]
EDITOR = [records_of(encode_cells(*row))[0] for row in cursor.editor_rows(*cursor.BUBBLES)]
CHAT = [records_of(line)[0] for line in cursor.chat_lines(*cursor.chat_rows(*cursor.MESSAGES))]
FOLDER = [
    records_of(encode_file(f"conversations/{openhands.CONVERSATION}/{name}", json.dumps(value).encode()))[0]
    for name, value in (
        ("base_state.json", openhands.STATE),
        *((f"events/event-{number:05d}-{number:08d}.json", each) for number, each in enumerate(test_openhands.EVENTS)),
    )
]
ROWS = records_of(b"".join(test_opencode_rows.LINES))
PI = records_of(test_pi.session_file(*test_pi.MESSAGES))
TALKS = [{"messages": openai.TALK[:2]}, {"messages": openai.TALK}]
DOCUMENTS: dict[str, tuple[Callable[[int], object], int]] = {  # by the number of records that is there, and all of them
    "swe-agent": (lambda count: {**test_swe_agent.DOCUMENT, "history": test_swe_agent.HISTORY[:count]}, 6),
    "mini-swe-agent": (lambda count: {**test_mini_swe_agent.DOCUMENT, "messages": test_mini_swe_agent.MESSAGES[:count]}, 6),
    "openhands": (lambda count: test_openhands.EVENTS[:count], 10),
    "atif": (lambda count: {**test_atif.DOCUMENT, "steps": test_atif.STEPS[:count]}, 4),
    "chatgpt": (chat, 7),
    "claude-ai": (lambda count: [test_claude_ai.conversation("c", *test_claude_ai.TREE[:count])], 4),
    "gemini": (lambda count: {**test_document.MEMBERS, "messages": test_document.MESSAGES[:count]}, 4),
}  # fmt: skip
RECORDS: dict[str, tuple[list[Any], tuple[int, ...]]] = {  # and the numbers of them at which the file is imported
    "claude-code": (LOG, (2, 4)),
    "codex": (ROLLOUT, (4, 7)),
    "gemini": (list(test_gemini.FILE), (3, 5)),
    "opencode": (ROWS, (3, 5)),
    "qwen": (test_qwen.FILE, (3, 5)),
    "pi": (PI, (3, 5)),
    "cursor": (records_of(journal(*turn(), *turn(2))), (3, 8)),
    "copilot-cli": (list(copilot_cli.FILE), (5, 8)),
    "iflow": (iflow.FILE, (2, 5)),
    "kimi": (list(kimi.FILE), (8, 11)),
    "grok": (grok.FILE, (4, 9)),
    "llm": (RESPONSES, (2,)),
    "openai-messages": (TALKS, (1, 2)),
}
TEXTS: dict[str, tuple[bytes, ...]] = {
    "aider": cut_at(aider.FILE, b"Here", b"> Applied", b"2026-03-02"),
    "specstory": cut_at(specstory.FILE.encode(), b"look", b"Why", b"port"),
}
SAMPLES: dict[str, tuple[str, tuple[bytes, ...]]] = {  # the format, and the file at each moment
    **{f"{name} lines": (name, grown_lines(records, *counts)) for name, (records, counts) in RECORDS.items()},
    **{f"{name} document": (name, grown_document(*document)) for name, document in DOCUMENTS.items()},
    **{f"{name} text": (name, texts) for name, texts in TEXTS.items()},
    "openai-messages lines": (
        "openai-messages",
        tuple(lines(TALKS[:count]) for count in (1, 2)),
    ),  # half of one has no name
    "llm threads": ("llm", grown_lines(THREAD, len(THREAD) - 1)),
    "cursor editor": ("cursor", grown_lines(EDITOR, 4, 6)),
    "cursor transcript": ("cursor", grown_lines(cursor_transcript.LINES, 2)),
    "openhands folder": ("openhands", grown_lines(FOLDER, 4, 8)),
    "openhands old document": ("openhands", grown_document(lambda count: openhands.OLD_EVENTS[:count], 10)),
    "cursor chat": ("cursor", grown_lines(CHAT, 5, 9)),
    "opencode dialog": ("opencode", (test_opencode_rows.data_of(*dialog("hello", "hi")),)),
}
