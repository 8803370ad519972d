"""Many processes run mixed commands on one store, and some are killed at random: `python -m tests.faults.chaos PLAN`.

PLAN is a JSON object, see `Plan`; the report is printed as JSON. Every worker forks a child for each command from this
process, which has imported scopes, so that thousands of commands take minutes. What a worker does depends only on the
seed; how the processes interleave does not.

A careful worker writes to conversations from which nobody takes anything back, and never runs `undo`: all of its
messages must stay on their branches. What other workers wrote may be taken back, by an operation in the log.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from scopes.history.messages import read_message, walk_headers_newest_first
from scopes.ids import Oid
from scopes.store import locks
from scopes.store import refs as names
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository, open_repository
from tests.faults.server import import_everything, redirect, run_command

LIMIT_SECONDS = 60
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 9}  # 7 would be damage, 8 a broken disk, 70 a bug
KILLED = -signal.SIGKILL
ANSWERS_WITH_A_CODE = {"verify", "merge", "rebase", "cherry-pick", "search"}  # damage, conflicts or nothing found
TAKES_BACK = {"undo", "redo", "rewind", "delete", "delete-branch", "merge-abort", "rebase-abort", "cherry-pick-abort"}
LEFT_BY_A_KILL = (
    "a process died and left this file",
    "an operation is committed, but not all of its refs are moved",
    "it differs from the last value in its reflog",  # as a warning: git writes the reflog first
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run; `expire` is the cutoff of `gc --expire`, `orphan_after` how long a lock file of a dead process is kept."""

    directory: str
    seed: int
    workers: int = 6
    commands: int = 60
    verifies: int = 3
    kill_share: float = 0.15
    expire: str = "2020-01-01"
    orphan_after: float = 1.0

    @property
    def store(self) -> str:
        """Return the path of the store."""
        return os.path.join(self.directory, "store.git")

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the conversations from which nobody takes anything back; a small plan has one."""
        return ("keep-1", "keep-2")[: 1 + self.commands // 100]

    @property
    def played(self) -> tuple[str, ...]:
        """Return the conversations in which everything is allowed."""
        return ("play-1", "play-2", "play-3")[: 1 + self.commands // 100]


class Ended(NamedTuple):
    """How a command ended; `code` is minus the signal that killed it."""

    arguments: list[str]
    code: int
    out: str
    err: str
    seconds: float


@dataclass
class Report:
    """What the workers found; `messages` maps acknowledged ids to texts, `kept` are those that must be on a branch.

    `groups` are the texts of each `append --jsonl FILE` into a kept conversation.
    """

    commands: int = 0
    killed: int = 0
    verifies: int = 0
    slowest: float = 0
    slowest_command: str = ""
    codes: dict[str, int] = field(default_factory=dict)
    verbs: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    false_alarms: list[str] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)

    def add(self, other: dict) -> None:
        """Add the report of a worker."""
        if other["slowest"] > self.slowest:
            self.slowest, self.slowest_command = other["slowest"], other["slowest_command"]
        for key in ("commands", "killed", "verifies"):
            setattr(self, key, getattr(self, key) + other[key])
        for key in ("failures", "false_alarms", "kept", "imported", "groups", "operations"):
            getattr(self, key).extend(other[key])
        self.messages |= other["messages"]
        for key in ("codes", "verbs"):
            setattr(self, key, dict(Counter(getattr(self, key)) + Counter(other[key])))


class Worker:
    """One process that runs commands, and kills some of them."""

    def __init__(self, plan: Plan, number: int) -> None:
        self.plan = plan
        self.name = f"w{number}"
        self.rng = random.Random(f"{plan.seed}/{number}")
        self.careful = number % 2 == 0
        self.directory = os.path.join(plan.directory, self.name)
        self.report = Report()
        self.counter = 0
        os.makedirs(self.directory)

    def run_share(self, count: int) -> Report:
        """Run so many commands."""
        makers = self._list_verbs()
        verbs, weights = list(makers), [weight for weight, _ in makers.values()]
        for _ in range(count):
            verb = self.rng.choices(verbs, weights)[0]
            self.report.verbs[verb] = self.report.verbs.get(verb, 0) + 1
            makers[verb][1]()
        return self.report

    def run_verifies(self, count: int) -> Report:
        """Run `verify` so many times."""
        for _ in range(count):
            self.verify()
        return self.report

    def run(self, *arguments: str, stdin: str = "", spare: bool = False) -> Ended:
        """Run a command in a forked child; kill it after a random time unless the dice or `spare` say no."""
        killed_after = None
        if self.rng.random() < self.plan.kill_share and not spare:
            killed_after = self.rng.choice((0.01, 0.03, 0.1)) * self.rng.random() ** 2 + 0.001
        ended = self._fork([*arguments], stdin, killed_after, self.rng.random() < 0.5)
        self._judge(ended, killed=killed_after is not None)
        return ended

    def _fork(self, arguments: list[str], stdin: str, killed_after: float | None, group: bool) -> Ended:
        paths = [os.path.join(self.directory, name) for name in ("stdin", "stdout", "stderr")]
        for path, text in zip(paths, (stdin, "", ""), strict=True):  # a child may be killed before it opens them
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.setsid()
            redirect(0, paths[0], os.O_RDONLY)
            for number, path in enumerate(paths[1:], 1):
                redirect(number, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.environ["SCOPES_AUTHOR"] = self.name
            run_command(arguments)
        code = _wait(child, killed_after, group)
        seconds = time.monotonic() - began
        with open(paths[1], encoding="utf-8") as out, open(paths[2], encoding="utf-8") as err:
            return Ended(arguments, code, out.read(), err.read(), seconds)

    def _judge(self, ended: Ended, *, killed: bool) -> None:
        report, shown = self.report, f"{self.name}: {' '.join(ended.arguments)[:200]}"
        report.commands += 1
        report.codes[str(ended.code)] = report.codes.get(str(ended.code), 0) + 1
        if ended.seconds > report.slowest:
            report.slowest, report.slowest_command = ended.seconds, shown
        if ended.seconds > LIMIT_SECONDS:
            report.failures.append(f"{shown}: no end after {LIMIT_SECONDS} s")
        elif ended.code == KILLED and killed:
            report.killed += 1
        elif ended.code not in DOCUMENTED:
            report.failures.append(f"{shown}: exit {ended.code}: {ended.err[-1500:]}")
        elif "Traceback" in ended.err or (
            ended.code and not ended.err and ended.arguments[0] not in ANSWERS_WITH_A_CODE
        ):
            report.failures.append(f"{shown}: exit {ended.code}: {ended.err[-1500:]!r}")
        for line in ended.out.splitlines(keepends=True):
            if line.startswith('{"scopes"') and line.endswith("\n"):
                operation = json.loads(line).get("operation")
                report.operations += [operation] if isinstance(operation, str) else []

    def verify(self) -> None:
        """Run `verify`; nothing but what a kill leaves may be found."""
        ended = self.run("verify", "--json", spare=True)
        self.report.verifies += 1
        if ended.code == 6:
            return
        for finding in json.loads(ended.out or "{}").get("findings", [{"problem": "no output", "severity": "error"}]):
            if finding["severity"] != "warning" or finding["problem"] not in LEFT_BY_A_KILL:
                self.report.false_alarms.append(json.dumps(finding))

    def _text(self) -> str:
        self.counter += 1
        return f"{self.name}/{self.counter}"

    def _place(self) -> str:
        return self.rng.choice(self.plan.kept if self.careful or self.rng.random() < 0.5 else self.plan.played)

    def _branch(self) -> str:
        own = f"{self.name}-b"
        mine = (own, f"{own}/deep") if self.careful else ("b0", "b1", "b2", "b0/deep", "b1/deep")
        return self.rng.choice(("main", "main", *mine))

    def _acknowledge(self, ended: Ended, conversation: str, texts: list[str]) -> None:
        """Record the messages whose ids were printed, in the order of `texts`."""
        lines = [line for line in ended.out.splitlines(keepends=True) if line.endswith("\n")]
        for text, line in zip(texts, lines, strict=False):
            identifier = json.loads(line)["id"] if line.startswith("{") else line.strip()
            self.report.messages[identifier] = text
            if self.careful and conversation in self.plan.kept:
                self.report.kept.append(identifier)

    def append(self) -> None:
        """Append a message."""
        place, text = self._place(), self._text()
        ended = self.run("append", f"{place}/{self._branch()}", text, "--as", self.name, "--json")
        self._acknowledge(ended, place, [text])

    def append_decision(self) -> None:
        """Append a decision, so that merges have conflicts."""
        place, text = self._place(), self._text()
        data = json.dumps({"topic": self.rng.choice(("db", "ui")), "decision": f"choice {self.rng.random()}"})
        words = ("append", f"{place}/{self._branch()}", "--kind", "decision", "--data", data, text, "--json")
        self._acknowledge(self.run(*words), place, [text])

    def append_lines(self, *, at_once: bool = False) -> None:
        """Append several messages as JSON lines."""
        place = self._place()
        texts = [self._text() for _ in range(self.rng.randint(2, 5))]
        lines = "".join(json.dumps({"author": self.name, "text": text}) + "\n" for text in texts)
        if at_once:
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
                file.write(lines)
                file.flush()
                ended = self.run("append", f"{place}/{self._branch()}", "--jsonl", file.name)
        else:
            ended = self.run("append", f"{place}/{self._branch()}", "--jsonl", "-", stdin=lines)
        self._acknowledge(ended, place, texts)
        if at_once and self.careful and place in self.plan.kept:
            self.report.groups.append(texts)

    def amend(self) -> None:
        """Amend the last message."""
        place, text = self._place(), self._text()
        self._acknowledge(
            self.run("amend", place, self.rng.choice(("main", "main~2")), text, "--branch", "main", "--json"),
            place,
            [text],
        )

    def import_transcript(self) -> None:
        """Import a small transcript of its own."""
        path, text = os.path.join(self.directory, f"t{self.counter}.jsonl"), self._text()
        turns = [{"role": "user", "content": text}, {"role": "assistant", "content": f"{text}/answer"}]
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"messages": turns}) + "\n")
        if self.run("import", path, "--json").code == 0 and self.careful:
            self.report.imported += [text, f"{text}/answer"]

    def rename_branch(self) -> None:
        """Rename `x` to `x/deep` and back: one name is a directory of the other."""
        place, branch = self._place(), self._branch()
        while branch == "main":
            branch = self._branch()
        new = branch.removesuffix("/deep") if branch.endswith("/deep") else f"{branch}/deep"
        self.run("rename", place, "--branch", branch, new, "--json")

    def rename_conversation(self) -> None:
        """Rename a conversation and back; nobody finds it in the meantime."""
        place = self.rng.choice(self.plan.played)
        self.run("rename", place, f"{place}-r", "--json")
        self.run("rename", f"{place}-r", place, "--json")

    def rewind_or_delete(self) -> None:
        """Take something back; a careful worker does not."""
        place, branch = self.rng.choice(self.plan.played), self.rng.choice(("b0", "b1", "b2"))
        words = self.rng.choice((
            ("rewind", f"{place}/main"), ("rewind", f"{place}/main", "-n", "2"), ("delete-branch", place, branch, "--force"),
            ("undo",), ("undo",), ("redo",), ("undo", place), ("delete", place),
        ))  # fmt: skip
        if self.careful:
            words = ("undo", "--dry-run")
        if words[0] == "delete" and self.run(*words, "--json").code == 0:
            words = ("undo",)
        self.run(*words, "--json")

    def export(self) -> None:
        """Export to a file."""
        path = os.path.join(self.directory, f"e{self.counter}")
        self.run(
            "export", self._place(), "--format", self.rng.choice(("markdown", "json", "jsonl")), "--force", "-o", path
        )

    def _list_verbs(self) -> dict[str, tuple[int, Callable[[], object]]]:
        """Return what a worker can do: a weight and a function by name."""
        run, rng, place, branch = self.run, self.rng, self._place, self._branch
        merges = (
            ("--source", "b0", "--target", "main"),
            ("--source", "main", "--target", "b1"),
            ("--source", "b2", "--no-ff"),
        )
        reads = (
            ("list",), ("log", "@"), ("log", "{}"), ("show", "{}"), ("search", "choice", "--in", "{}"), ("search", "w1"),
            ("context", "{}", "--budget", "500"), ("conflicts", "list", "{}"), ("operations", "-a"), ("branch", "{}"),
            ("stats", "{}"), ("decisions", "{}"), ("cat", "{}", "main"), ("memory", "list"), ("history", "{}"),
        )  # fmt: skip
        return {
            "append": (20, self.append),
            "decision": (6, self.append_decision),
            "jsonl": (5, self.append_lines),
            "atomic": (8, lambda: self.append_lines(at_once=True)),
            "amend": (2, self.amend),
            "retract": (2, lambda: run("retract", place(), "main~1", "--branch", "main", "--json")),
            "new": (1, lambda: run("new", self._text(), "--json")),
            "branch": (
                6,
                lambda: run("branch", place(), rng.choice((branch(), "b0", "b1", "b2")), "--from", "main~1", "--json"),
            ),
            "switch": (2, lambda: run("switch", place(), branch(), "--json")),
            "merge": (5, lambda: run("merge", place(), *rng.choice(merges), "--json")),
            "merge-end": (4, lambda: run("merge", place(), rng.choice(("--continue", "--abort")), "--json")),
            "resolve": (
                4,
                lambda: run("conflicts", "resolve", place(), "1", "--take", rng.choice(("source", "target")), "--json"),
            ),
            "rebase": (
                1,
                lambda: run("rebase", rng.choice(self.plan.played), "--branch", "b2", "--onto", "main", "--json"),
            ),
            "replay-end": (1, lambda: run("rebase", rng.choice(self.plan.played), "--abort", "--json")),
            "cherry-pick": (1, lambda: run("cherry-pick", place(), "b1", "--branch", "main", "--json")),
            "take-back": (6, self.rewind_or_delete),
            "rename-branch": (5, self.rename_branch),
            "rename-conversation": (1, self.rename_conversation),
            "title": (1, lambda: run("rename", place(), "--title", self._text(), "--json")),
            "tag": (
                2,
                lambda: run(
                    "tag", place(), rng.choice(("v1", "v2")), *rng.choice(((), ("main~1",), ("--delete",))), "--json"
                ),
            ),
            "abandon": (
                1,
                lambda: run("branch", rng.choice(("--hide", "--unhide")), place(), rng.choice(("b0", "b1")), "--json"),
            ),
            "memory": (1, lambda: run("memory", "update", place(), "--now", "--json")),
            "read": (
                8,
                lambda: run(*(word.format(place()) for word in rng.choice(reads)), *rng.choice(((), ("--json",)))),
            ),
            "verify": (1, self.verify),
            "gc": (1, lambda: run("gc", "--json")),
            "expire": (1, lambda: run("gc", "--expire", self.plan.expire, "--yes", "--json")),
            "repair": (1, lambda: run("verify", "--repair", *rng.choice(((), ("--dry-run",))), "--json")),
            "import": (2, self.import_transcript),
            "export": (1, self.export),
        }


def _wait(child: int, killed_after: float | None, group: bool) -> int:
    """Wait for a child and return its exit code; kill it, or its process group, after a time or the limit."""
    handle = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        seconds = LIMIT_SECONDS + 1 if killed_after is None else killed_after
        if not poll.poll(seconds * 1000):
            try:
                (os.killpg if group else os.kill)(child, signal.SIGKILL)
            except ProcessLookupError:  # not yet the leader of its group
                os.kill(child, signal.SIGKILL)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def prepare(plan: Plan) -> None:
    """Make the store and its conversations, each with some messages and branches."""
    os.environ["SCOPES_STORE"] = plan.store
    builder = Worker(plan, -1)
    for place in (*plan.kept, *plan.played):
        lines = "".join(json.dumps({"author": "builder", "text": f"{place}/{number}"}) + "\n" for number in range(3))
        builder.run("new", "--id", place, spare=True)
        builder.run("append", place, "--jsonl", "-", stdin=lines, spare=True)
        own = [f"w{number}-b" for number in range(0, plan.workers, 2)] if place in plan.kept else []
        for branch in ("b0", "b1", "b2", *own):
            builder.run("branch", place, branch, "--from", "main", spare=True)
    failed = builder.report.failures or {code for code in builder.report.codes if code != "0"}
    assert not failed, failed


def run_workers(plan: Plan) -> Report:
    """Run all workers at the same time, each in a process of its own, and join their reports."""
    pids = {}
    for number in range(plan.workers + 1):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                worker = Worker(plan, number)
                share = len(range(number, plan.commands, plan.workers)) if number < plan.workers else plan.verifies
                run = worker.run_share if number < plan.workers else worker.run_verifies
                with open(os.path.join(worker.directory, "report"), "w", encoding="utf-8") as file:
                    json.dump(asdict(run(share)), file)
                status = 0
            except BaseException:  # noqa: BLE001 - the process ends here, and the parent sees its status
                traceback.print_exc()
            os._exit(status)
        pids[pid] = number
    report = Report()
    for pid, number in pids.items():
        assert os.waitpid(pid, 0)[1] == 0, f"worker {number} failed"
        with open(os.path.join(plan.directory, f"w{number}", "report"), encoding="utf-8") as file:
            report.add(json.load(file))
    return report


def walk_losses(plan: Plan, report: Report) -> Iterator[str]:
    """Yield every acknowledged message and operation that is not in the store as it should be."""
    repository = open_repository(plan.store)
    refs = repository.list_refs()
    live = read_messages(repository, [value for ref, value in refs.items() if ref.startswith(names.HEADS)])
    operations = [operation for _, operation in walk_operations(repository)]
    expires = plan.expire != Plan.expire
    removed = read_messages(
        repository,
        [
            c.old
            for o in operations
            if o.kind in TAKES_BACK
            for c in o.changes
            if c.old and c.ref.startswith(names.HEADS)
        ],
    )
    for identifier, text in report.messages.items():
        if identifier in live:
            if live[identifier] != text:
                yield f"message {identifier} has another text: {live[identifier]!r}, not {text!r}"
        elif identifier in report.kept:
            yield f"message {identifier} ({text}) is on no branch, and nobody takes back messages there"
        elif not expires and identifier not in removed:
            yield f"message {identifier} ({text}) is on no branch, and no operation took it back"
    texts = Counter(live.values())
    yield from (f"imported message {text!r} is lost" for text in report.imported if texts[text] != 1)
    yield from (
        f"text {text!r} is stored in {count} messages"
        for text, count in texts.items()
        if count > 1 and text.startswith("w")
    )
    for group in report.groups:
        if len({text in texts for text in group}) != 1:
            yield f"only a part of an atomic append is there: {[text for text in group if text in texts]} of {group}"
    if not expires:
        recorded = {operation.id for operation in operations}
        yield from (f"operation {one} is not in the log" for one in report.operations if one not in recorded)


def read_messages(repository: Repository, tips: list[str]) -> dict[str, str]:
    """Return the texts of all messages reachable from commits, by id."""
    heads = walk_headers_newest_first(repository, dict.fromkeys(Oid(tip) for tip in tips))
    return {head.id: read_message(repository, head.oid).text for head in heads}


def main() -> None:
    """Run the plan of the command line and print the report."""
    plan = Plan(**json.loads(sys.argv[1]))
    locks._ORPHAN_AFTER_SECONDS = plan.orphan_after
    import_everything()
    began = time.monotonic()
    prepare(plan)
    report = run_workers(plan)
    losses = list(walk_losses(plan, report))
    counts = asdict(report) | {
        "acknowledged": len(report.messages), "kept": len(report.kept), "imported": len(report.imported),
        "groups": len(report.groups), "operations": len(report.operations),
        "lost": losses, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    del counts["messages"]
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
