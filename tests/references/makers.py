"""Make each reference. Every function returns what JSON can hold, or None if its material is not here."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.references.program import World, list_heads

SHARED = Path(__file__).parents[3] / "shared"
SAMPLES = SHARED / "transcripts"
CORPUS = os.environ.get("SCOPES_TEST_CORPUS")  # a home with sessions of Claude Code and Codex
PROJECTS = [place for place in os.environ.get("SCOPES_TEST_CORPUS_PROJECTS", "").split(":") if place]  # git directories
MODIFIED = 1_780_000_000  # seconds since 1970: when the copies of samples were written
FIVE = (
    "claude-code/v2.0.76_compact_small.jsonl", "claude-code/two-sessionIds.jsonl", "codex", "gemini-cli", "pi",
)  # fmt: skip


def imports() -> Any:
    """Branches and tips of every sample, each imported into a store of its own."""
    if not SAMPLES.is_dir():
        return None
    found: dict[str, Any] = {}
    listed = [line.split("\t")[0] for line in (SAMPLES / "MANIFEST.tsv").read_text().splitlines()[1:]]
    for name in dict.fromkeys(_STORAGE.sub(r"\1", each) for each in listed):
        path = SAMPLES / name
        if not path.exists():
            continue
        with World() as world:
            code, _ = world.run("import", str(path))
            found[name] = {"exit": code, "heads": list_heads(world.store)}
    return found


def corpus() -> Any:
    """Branches and tips of the corpus, its usage, and what `check` finds in it."""
    if CORPUS is None:
        return None
    with World() as world:
        for folder in (".claude", ".codex"):
            os.symlink(f"{CORPUS}/{folder}", world.home / folder)
        code, _ = world.run("import", "--project", "all")
        heads = list_heads(world.store)
        conversations = sorted({name.partition("/")[0] for name in heads})
        rules: Counter[str] = Counter()
        findings: dict[str, str] = {}
        for conversation in conversations:
            rows = _findings(world.json("check", conversation, "--preset", "strict"))
            rules.update(row[0] for row in rows)
            findings[conversation] = _digest(rows)
        usage = {by: _plain(world.json("usage", "--by", by)) for by in ("model", "week")}
        return {
            "exit": code,
            "heads": heads,
            "rules": dict(sorted(rules.items())),
            "findings": findings,
            "usage": usage,
        }


def _findings(document: Any) -> list[list[Any]]:
    """Return rule, level, line and message of each finding, without those about commands that cannot be read."""
    found: list[list[Any]] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            is_finding = "rule" in value and "level" in value and value.get("status", "fail") != "pass"
            if is_finding and value["rule"] != "shell/opaque":
                found.append([value["rule"], value["level"], value.get("line"), value.get("text")])
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(document)
    return sorted(found, key=repr)


def commands() -> Any:
    """The JSON of reading commands on a store of five sessions."""
    if not SAMPLES.is_dir():
        return None
    with World() as world:
        for name in FIVE:
            sample = SAMPLES / name
            path = world.home / name.replace("/", "-")
            shutil.copyfile(sample if sample.is_file() else _smallest(sample), path)
            os.utime(path, (MODIFIED, MODIFIED))
            world.run("import", str(path))
        return {" ".join(words): _plain(world.json(*words)) for words in _reading_commands()}


def _smallest(folder: Path) -> Path:
    return min(
        (path for path in folder.rglob("*.json*") if path.stat().st_size > 3000), key=lambda path: path.stat().st_size
    )


def _reading_commands() -> list[tuple[str, ...]]:
    one, two, three = "conv-001", "conv-002", "conv-003"
    return [
        ("list",), ("list", "--agent", "codex"), ("list", "--since", "2025-01-01"),
        *((("show", each)) for each in (one, two, three, "conv-004", "conv-005")),
        *((("log", each, "-n", "20")) for each in (one, two, three)),
        ("log", one, "--oneline"), ("log", two, "--reverse", "-n", "5"), ("log", one, "--kind", "prompt"),
        ("search", "test"), ("search", "kind:prompt file"), ("search", "error", "--count"), ("search", "kind:answer the"),
        ("show", one, "--stat"), ("show", two, "--stat"), ("show", one, "--files"), ("show", two, "--files"),
        ("decisions", one), ("branch", one), ("conflicts", "list", one), ("changes",), ("changes", one),
        ("usage",), ("usage", "--by", "model"),
        ("context", one, "--max-tokens", "1500"), ("context", two, "--max-tokens", "800", "--task", "fix the test"),
        ("memory", "list"), ("facts", "list"), ("agents", "list"), ("proposals", "list"), ("tag", one),
        ("diff", one, two), ("diff", f"{one}/main", f"{two}/main"), ("cat", f"{one}/main"), ("show", "--commits", two), ("export", three, "--format", "openai"),
        ("config",), ("verify",),
    ]  # fmt: skip


def merges() -> Any:
    """Outcomes of merges of drawn histories: what both sides claim is drawn by a fixed seed."""
    return {str(seed): _merge(random.Random(seed)) for seed in range(30)}


def _merge(chance: random.Random) -> dict[str, Any]:
    """Draw a history of two branches and return what a plan, a strict plan, the merge and its undo say."""
    with World() as world:
        world.must("new", "drawn")
        world.must("append", "conv-001/main", "--as", "ada", "begin")
        _append(world, "main", chance)
        world.must("branch", "conv-001", "--purpose", "analysis", "--agent", "bob", "side")
        for _ in range(chance.randrange(3, 6)):
            for branch in ("main", "side"):
                _append(world, branch, chance)
                if chance.randrange(6) == 0:
                    world.must("retract", f"conv-001/{branch}", "--as", "ada")
        words = ("merge", "conv-001", "--source", "side", "--target", "main")
        found = {
            "dry": _outcome(world, *words, "--dry-run"),
            "strict": _outcome(world, *words, "--dry-run", "--strict"),
            "back": _outcome(world, "merge", "conv-001", "--source", "main", "--target", "side", "--dry-run"),
            "done": _outcome(world, *words),
            "listed": _outcome(world, "conflicts", "list", "conv-001"),
        }
        rows = world.json("log", "conv-001")
        found["log"] = [[row.get("author"), row.get("kind"), row.get("subject")] for row in _listed(rows)]
        decisions = world.json("decisions", "conv-001").get("decisions", [])
        # which spelling of a topic is shown depends on ids, which are random
        found["decisions"] = sorted([row["topic"].lower(), row["decision"], row["state"]] for row in decisions)
        found["undo"] = [world.run("undo")[0], sorted(list_heads(world.store))]
        return found


def _append(world: World, branch: str, chance: random.Random) -> None:
    """Append a message with a claim that may contradict one of the other branch."""
    topic, value = chance.choice(("color", "Batch Size", "batch size")), chance.choice(("red", "blue", "2000"))
    operation, path = chance.choice(("create", "edit", "edit", "delete")), chance.choice(("a.py", "b/c.py"))
    more = chance.choice(
        (
            ("--kind", "decision", "--topic", topic, value),
            ("--kind", "method", "--topic", topic, value),
            ("--kind", "priority", "--topic", topic, chance.choice(("high", "low"))),
            ("--kind", "analysis", "--data", json.dumps({"subject": topic, "aspect": "cost", "finding": value})),
            ("--data", json.dumps({"files": [{"path": path, "op": operation}]}), "work"),
            (f"text {chance.randrange(100)}",),
        )
    )
    world.must("append", f"conv-001/{branch}", "--as", chance.choice(("ada", "bob")), *more)


def _outcome(world: World, *words: str) -> Any:
    """Return what a merge did and its conflicts, without ids and times."""
    code, text = world.run(*words, "--json")
    document = json.loads(_ID.sub("ID", text))
    conflicts = [
        [each[name] for name in ("type", "severity", "key", "status", "automatic_resolution")]
        + [(each.get(side) or {}).get("value") for side in ("base", "source", "target")]
        for each in document["conflicts"]
    ]
    found = [code, document.get("result"), document.get("branch"), len(document.get("merged_messages", []))]
    return {"merge": found, "conflicts": sorted(conflicts, key=repr)}


def _listed(document: Any) -> list[dict[str, Any]]:
    return document if isinstance(document, list) else [document]


def why() -> Any:
    """The conversations that lines of projects of the corpus are from."""
    if CORPUS is None or not PROJECTS:
        return None
    answers: dict[str, Any] = {}
    with World() as world:
        for folder in (".claude", ".codex"):
            os.symlink(f"{CORPUS}/{folder}", world.home / folder)
        world.run("import", "--project", "all")
        for number, project in enumerate(PROJECTS):
            checkout = world.home / f"project{number}"
            subprocess.run(["git", "clone", "-q", project, checkout], check=True, capture_output=True)
            files = sorted(path for path in checkout.rglob("*.go") if path.stat().st_size > 4000)[::9]
            for path in files[:20]:
                lines = path.read_text(errors="replace").count("\n")
                for line in (lines // 4, lines // 2, lines * 3 // 4):
                    place = f"{path.relative_to(checkout)}:{line}"
                    answers[f"{number} {place}"] = _links(world.json("why", place, cwd=checkout))
    return answers


def _links(document: Any) -> list[Any]:
    """Return how sure an answer is, and the conversations, messages and reasons that it names."""
    if "level" not in document:
        return [document]
    answers = document.get("answers", [])
    return [document["level"], *([each.get(name) for name in ("conversation", "message", "how")] for each in answers)]


def _digest(value: Any) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]


_STORAGE = re.compile(r"(_storage)/.*")  # a folder that is one sample
_ID = re.compile(r"\b[a-z2-7]{26}\b")  # of a message
_HOME = re.compile(r"/[^\s\"']*references-\w+")


def _plain(value: Any) -> Any:
    """Replace what differs between runs, and long texts by a digest."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        text = _HOME.sub("HOME", value)
        return text if len(text) <= 60 else f"{text[:30]}... {_digest(text)}"
    return value


VOLATILE = frozenset({"operation", "source", "formatted_history", "seconds"})  # random ids and marks, durations

MAKERS: dict[str, Callable[[], Any]] = {
    "imports": imports, "corpus": corpus, "commands": commands, "merges": merges, "why": why,
}  # fmt: skip
