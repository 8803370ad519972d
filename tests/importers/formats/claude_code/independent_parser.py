"""An independent parser of transcripts, to compare the importer with: it decodes whole files and follows links itself."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import groupby
from pathlib import Path

DECODER = json.JSONDecoder()


def raw_records(path):
    """Decode a file; several documents on a line are separated, and everything else must be valid."""
    found = []
    for line in Path(path).read_bytes().decode().split("\n"):
        position = 0
        while position < len(line.rstrip()):
            value, position = DECODER.raw_decode(line, position)
            found.append(value)
    return found


class Raw:
    """The records of a file, and the messages that they belong to."""

    def __init__(self, path):
        self.records = raw_records(path)
        self.by_uuid = {}
        for record in self.records:
            if "uuid" in record:
                self.by_uuid.setdefault(record["uuid"], record)
        self.spoken = [r for r in self.by_uuid.values() if r["type"] in ("user", "assistant")]
        self.callers = {
            block["id"]: record["message"].get("id")
            for record in self.spoken if record["type"] == "assistant"
            for block in record["message"]["content"] if block["type"] == "tool_use" and "id" in block
        }  # fmt: skip

    def label(self, record):
        """Return the key of a record's message: the id of an answer, the answer of results, else the record's own id."""
        content = record["message"]["content"]
        if record["type"] == "assistant" and record["message"].get("model") != "<synthetic>":
            return "answer", record["message"].get("id") or record["requestId"]
        if isinstance(content, list) and content[0]["type"] == "tool_result":
            return "results", self.callers.get(content[0].get("tool_use_id"))
        return "single", record["uuid"]

    def messages(self):
        return [label for label, _ in groupby(map(self.label, self.spoken))]

    def family(self, record):
        """Return a key that an answer shares with all results of its tools."""
        kind, name = self.label(record)
        return name if kind == "single" else ("turn", name)

    def spoken_above(self, record):
        """Follow parent links to a message record."""
        above = self.by_uuid.get(record.get("parentUuid") or record.get("logicalParentUuid"))
        while above is not None and above["type"] not in ("user", "assistant"):
            above = self.by_uuid.get(above.get("parentUuid") or above.get("logicalParentUuid"))
        return above

    def forks(self):
        children = defaultdict(set)
        for record in self.spoken:
            above = self.spoken_above(record)
            if above is not None and self.family(above) != self.family(record):
                children[self.family(above)].add(self.family(record))
        return sum(1 for groups in children.values() if len(groups) > 1)

    def beginnings(self):
        """Count messages without a parent; a cleared context does not begin a new line of history."""
        roots = [record for record in self.records if record.get("parentUuid", "") is None]
        cleared = sum(record.get("data", {}).get("hookName") == "SessionStart:clear" for record in roots[1:])
        return len({self.family(record) for record in self.spoken if self.spoken_above(record) is None}) - cleared

    def tokens(self, name):
        """Sum one count over the answers, using the last line of each."""
        last = {}
        for record in self.records:
            if record["type"] == "assistant" and "usage" in record["message"]:
                last[record["message"]["id"]] = record["message"]["usage"]
        return sum(usage[name] for usage in last.values())
