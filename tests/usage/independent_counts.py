"""Count the tokens in files of transcripts without the importer: by the ids that the agents gave their answers.

Each function returns the counts of a folder: answers, and tokens of input (uncached, read from a cache, written to
one) and of output.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

DECODER = json.JSONDecoder(strict=False)
AIDER = ("sent", "cache hit|cached", "cache write", "received")
Counts = tuple[int, int, int, int, int]


def add_up(rows: list[tuple[int | None, ...]]) -> Counts:
    """Return the number of rows, and the sums of their columns; rows of zeros are no answers."""
    found = [[count or 0 for count in row] for row in rows if any(row)]
    return (len(found), *(sum(column) for column in zip(*found, strict=True))) if found else (0, 0, 0, 0, 0)


def files(folder: Path, suffix: str) -> list[Path]:
    """Return the files below a folder, in order."""
    return sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file())


def records(path: Path) -> Iterator[Any]:
    """Yield the documents of a file, also several on one line, and skip what is cut."""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        rest = line.strip()
        while rest:
            try:
                value, end = DECODER.raw_decode(rest)
            except ValueError:
                break
            yield value
            rest = rest[end:].lstrip()


def count_claude_code(folder: Path) -> Counts:
    """The last line of each message id has the counts of the whole answer."""
    last: dict[str, dict[str, int]] = {}
    for path in files(folder, ".jsonl"):
        for record in records(path):
            if isinstance(record, dict) and record.get("type") == "assistant" and record["message"].get("usage"):
                last[record["message"]["id"]] = record["message"]["usage"]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return add_up([tuple(usage.get(name) for name in names) for usage in last.values()])


def count_codex(folder: Path) -> Counts:
    """Each change of the total is an answer; a thread that is in two files counts once, and copies of others never."""
    found: dict[str, dict[str, Any]] = {}
    for path in files(folder, ".jsonl"):
        every = [record for record in records(path) if isinstance(record, dict)]
        metas = [record["payload"]["id"] for record in every if record.get("type") == "session_meta"]
        start = _end_of_copy(every) if len(metas) > 1 else 0
        before = None
        for number, record in enumerate(every):
            info = (record.get("payload") or {}).get("info") if record.get("type") == "event_msg" else None
            if info and info["total_token_usage"] != before:
                before = info["total_token_usage"]
                if number >= start:
                    found.setdefault(metas[0], {})[json.dumps(before)] = info["last_token_usage"]
    rows = [usage for thread in found.values() for usage in thread.values()]
    return add_up([
        (row["input_tokens"] - row["cached_input_tokens"], row["cached_input_tokens"], 0, row["output_tokens"])
        for row in rows
    ])  # fmt: skip


def _end_of_copy(every: list[dict[str, Any]]) -> int:
    """Return the number of the first record of a fork itself: all copies have the time of the fork."""
    times = [record["timestamp"][:19] for record in every]
    return next(number for number, time in enumerate(times) if time > times[1])


def count_pi(folder: Path) -> Counts:
    """Every record has an id of its own."""
    usages = [r["message"].get("usage") for path in files(folder, ".jsonl") for r in records(path) if "message" in r]
    return add_up([(u["input"], u["cacheRead"], u["cacheWrite"], u["output"]) for u in usages if u])


def count_qwen(folder: Path) -> Counts:
    """Every record has an id of its own; input includes what was cached."""
    last = {
        r["uuid"]: r["usageMetadata"]
        for path in files(folder, ".jsonl")
        for r in records(path)
        if r.get("usageMetadata")
    }
    rows = []
    for usage in last.values():
        cached = usage.get("cachedContentTokenCount") or 0
        rows.append((usage["promptTokenCount"] - cached, cached, 0, usage["candidatesTokenCount"]))
    return add_up(rows)


def count_gemini(folder: Path) -> Counts:
    """A message is written again when its tools are finished: the last one of an id counts, in all files together."""
    last: dict[str, dict[str, int]] = {}
    for path in files(folder, ".jsonl"):
        for record in records(path):
            if record.get("type") == "gemini" and record.get("tokens"):
                last[record["id"]] = record["tokens"]
    return add_up([
        (row["input"] - row["cached"], row["cached"], 0, row["output"] + row.get("thoughts", 0)) for row in last.values()
    ])  # fmt: skip


def count_opencode(database: Path) -> Counts:
    """A fork has copies of the messages of its parent with other ids and the same times."""
    rows: dict[str, tuple[int | None, ...]] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(database, folder)
        with closing(sqlite3.connect(copy)) as connection:
            for (data,) in connection.execute("SELECT data FROM message"):
                message = json.loads(data)
                tokens = message.get("tokens") or {"input": 0, "output": 0, "reasoning": 0, "cache": {}}
                cache = tokens["cache"]
                output = tokens["output"] + tokens["reasoning"]
                rows[json.dumps(message["time"])] = (tokens["input"], cache.get("read"), cache.get("write"), output)
    return add_up(list(rows.values()))


def count_aider(folder: Path) -> Counts:
    """Each request has a line with rounded counts; what is sent includes what is cached, if it can.

    Lines of another process that came between the beginning of a run and its first prompt belong to no request of it.
    """
    rows = []
    for path in files(folder, ".md"):
        is_banner = False
        for line in path.read_text(encoding="utf-8").split("\n"):
            is_banner = line.startswith("# aider chat started") or (is_banner and line[:1] in {"", ">"})
            if not is_banner and line.startswith("> Tokens: ") and " received" in line:
                sent, read, write, received = (_number_before(line, words) for words in AIDER)
                rows.append((sent - read - write if read + write <= sent else sent, read, write, received))
    return add_up(rows)


def _number_before(line: str, words: str) -> int:
    found = re.search(rf"([\d.,]+)(k?) (?:{words})", line)
    return 0 if found is None else round(float(found[1].replace(",", "")) * (1000 if found[2] else 1))
