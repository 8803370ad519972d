"""Every command with which agents and people write leaves rows in the change log, and so does undo (S4-49 to S4-52)."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from scopes import clock
from scopes.cli.table import AGENTS, FACTS, PROPOSE, SECRETS, TABLE
from tests.cli.conversation import Conversation
from tests.support.examples import sample
from tests.support.planted import MIXED
from tests.support.random_ids import hashed_counter

KEY = f"sk_live_{MIXED[:24]}"
CARD = '{"name": "imported", "description": "", "skills": []}'
OUTPUT = {
    "facts": [{"key": "Signals", "content": "x", "id": "x"}],
    "questions": [{"key": "Seeds", "id": "q", "text": "?"}],
}
PROGRAM = shlex.quote(f"ann=echo {shlex.quote(json.dumps(OUTPUT))}")
BRANCH = "CONV/collaboration/consensus"
MERGED = "branches.collaboration/consensus.status"
RESOLVED = "branches.conflict-resolution/collaboration-consensus-into-main.status"
STATUS = "entities.task.42.status"
# A command with what follows from it: operation, field and cause of each row but those of messages and branches. ID is
# any id in a field, CONV the conversation, LAST what the last `proposals create` printed.
STEPS = [
    ("agents register ann --capability review --depends-on Seeds", "CREATE agents.ann user:user"),
    ("agents register carol --type human --away", "CREATE agents.carol user:user"),
    ("agents import -", "CREATE agents.imported user:user"),
    ("agents update ann --capability go --description d", "UPDATE agents.ann.capabilities user:user",
     "UPDATE agents.ann.description user:user"),
    ("agents away ann", "UPDATE agents.ann.available user:user"),
    ("send CONV --to ann --queue look --as carol", "APPEND inbox.ann user:carol"),
    ("agents available ann", "UPDATE agents.ann.available user:user", "UPDATE inbox.ann user:user"),
    ("inbox ann --ack", "DELETE inbox.ann user:user"),
    ("send CONV --to imported look --as ann", "APPEND inbox.imported agent:ann"),
    ("agents remove imported", "DELETE agents.imported user:user", "DELETE inbox.imported user:user"),
    ("proposals create CONV task/42 status=a --as ann", "CREATE proposals.ID agent:ann"),
    ("proposals create CONV task/42 status=done --as ann", "CREATE proposals.ID agent:ann",
     "UPDATE proposals.ID agent:ann"),
    ("proposals accept CONV LAST --no-apply --as carol", "UPDATE proposals.ID user:carol"),
    ("proposals apply CONV LAST --as carol", "UPDATE proposals.ID user:carol", f"CREATE {STATUS} user:carol"),
    ("proposals feedback CONV LAST --rating 5 --as carol", "UPDATE proposals.ID user:carol"),
    ("proposals rollback CONV LAST --as carol", "UPDATE proposals.ID user:carol", f"DELETE {STATUS} user:carol"),
    ("proposals create CONV task/42 status=b --as bob", "CREATE proposals.ID agent:bob"),
    ("proposals create CONV task/42 status=b --as ann", "CREATE proposals.ID agent:ann"),
    ("proposals modify CONV LAST --set status=c --as carol", "UPDATE proposals.ID user:carol",
     "UPDATE proposals.ID user:carol", "UPDATE proposals.ID user:carol", f"CREATE {STATUS} user:carol"),
    ("proposals create CONV task/42 status=e --as ann", "CREATE proposals.ID agent:ann"),
    ("proposals reject CONV LAST --reason too-risky --as carol", "UPDATE proposals.ID user:carol"),
    ("append CONV 'key KEY' --as bob",),
    ("secrets allow SECRET --reason sample", "CREATE allowed_secrets.ID user:user"),
    ("secrets allow SECRET --reason other", "UPDATE allowed_secrets.ID user:user"),
    ("secrets allow SECRET --remove", "DELETE allowed_secrets.ID user:user"),
    ("facts key add Risks", "CREATE context_keys.Risks user:user"),
    ("facts propose CONV Seeds slow --id one --as ann", "CREATE proposed_facts.Seeds.one agent:ann"),
    ("facts promote CONV one", "CREATE facts.Seeds.one user:user", "DELETE proposed_facts.Seeds.one user:user"),
    ("facts propose CONV Risks loss --id two --as ann", "CREATE proposed_facts.Risks.two agent:ann"),
    ("facts accept CONV two --as carol", "CREATE facts.Risks.two user:carol",
     "DELETE proposed_facts.Risks.two user:carol", "CREATE fact_decisions.Risks/two user:carol"),
    ("facts propose CONV Seeds no --id three --as ann", "CREATE proposed_facts.Seeds.three agent:ann"),
    ("facts reject CONV three --reason old --as carol", "UPDATE proposed_facts.Seeds.three user:carol",
     "CREATE fact_decisions.Seeds/three user:carol"),
    (f"facts run CONV --agent {PROGRAM}", "CREATE facts.Signals.x agent:ann",
     "CREATE fact_questions.q agent:ann", "CREATE fact_cycles.1 user:user", "CREATE fact_cycles.2 user:user"),
    ("facts decide CONV q approved --as carol", "CREATE fact_decisions.q user:carol",
     "DELETE fact_questions.q user:carol"),
    ("collaborate CONV --type consensus --agents ann --task T --as carol", "CREATE collaborations.ID user:carol",
     "APPEND inbox.ann user:carol"),
    (f"collaborate join {BRANCH} --as ann", "CREATE collaborations.ID.participants.ann agent:ann",
     "DELETE inbox.ann agent:ann"),
    (f"collaborate argue {BRANCH} JWT --as ann", "CREATE collaborations.ID.positions.ann.the task agent:ann"),
    (f"collaborate argue {BRANCH} Cookies --as bob", "CREATE collaborations.ID.positions.bob.the task agent:bob"),
    (f"collaborate argue {BRANCH} Both --as ann", "UPDATE collaborations.ID.positions.ann.the task agent:ann"),
    (f"append {BRANCH} redis --kind decision --topic queue --as ann", "CREATE decisions.queue agent:ann"),
    (f"append {BRANCH} a --kind decision --topic name --as ann", "CREATE decisions.name agent:ann"),
    ("append CONV/main pg --kind decision --topic queue --as bob", "CREATE decisions.queue agent:bob"),
    ("append CONV/main b --kind decision --topic name --as bob", "CREATE decisions.name agent:bob"),
    ("merge CONV --source collaboration/consensus --target main", "CREATE conflicts.ID user:user",
     "CREATE conflicts.ID user:user"),
    ("conflicts argue CONV 1 --position redis --as ann", "CREATE conflicts.ID.positions.ann agent:ann",
     "UPDATE conflicts.ID agent:ann"),
    ("conflicts argue CONV 1 --position pg --as bob", "CREATE conflicts.ID.positions.bob agent:bob"),
    ("conflicts argue CONV 1 --position both --as ann", "UPDATE conflicts.ID.positions.ann agent:ann"),
    ("conflicts escalate CONV 1 --to carol --as ann", "UPDATE conflicts.ID agent:ann", "APPEND inbox.carol agent:ann"),
    ("conflicts resolve CONV 1 --take source --as carol", "UPDATE conflicts.ID user:carol",
     "UPDATE decisions.name user:carol"),
    ("conflicts intervene CONV 2 --take source --reason r --as carol", "UPDATE conflicts.ID user:carol",
     "UPDATE decisions.queue user:carol"),
    ("merge CONV --continue", "UPDATE collaborations.ID user:user", f"UPDATE {MERGED} user:user",
     f"UPDATE {RESOLVED} user:user"),
    (f"collaborate close {BRANCH} --outcome JWT --as carol", "UPDATE collaborations.ID user:carol",
     f"UPDATE {MERGED} user:carol"),
]  # fmt: skip
STATE = re.compile(r"(messages|participants|active_branch)\b|branches\.(?!.*\.status$)")
ID = re.compile(r"(?<=\.)([a-z2-7]{26}|[0-9a-f]{12}|[0-9a-f]{32})(?=\.|$)")
OPPOSITE = {"CREATE": "DELETE", "DELETE": "CREATE", "UPDATE": "UPDATE"}


class Log:
    """A store, and the change log of its conversation and of the registry as they were read last."""

    def __init__(self, path):
        self.store = Conversation(path)
        self.known = {"CONV": [], "--registry": []}
        self.last = ""
        self.take_new()

    def take_new(self):
        """Return the new rows; those from before are the same, and times do not go back."""
        found = {}
        for name, known in self.known.items():
            rows = self.store.run("changes", self.store.id if name == "CONV" else name, "--json", "--quiet")
            rows = rows if isinstance(rows, list) else [rows]
            assert rows[: len(known)] == known
            times = [clock.parse_time(row["time"]) for row in rows]
            assert times == sorted(times)
            found |= {json.dumps(row): row for row in rows[len(known) :]}  # an agent is in both
            self.known[name] = rows
        return list(found.values())

    def do(self, line):
        words = [
            word.replace("CONV", self.store.id).replace("LAST", self.last).replace("KEY", KEY)
            for word in shlex.split(line)
        ]
        if "SECRET" in words:
            found = json.loads(self.store.run_main("secrets", "scan", "--json").stdout)["secrets"]
            words[words.index("SECRET")] = found[0]["id"]
        done = self.store.run_main(*words, given=CARD)
        assert done.returncode == (3 if "--source" in words else 0), done.stderr
        self.last = done.stdout.strip() if line.startswith("proposals create") else self.last
        return done.stdout

    def run(self, line):
        self.do(line)
        return self.take_new()

    def undo_and_redo(self, line):
        """Return the new rows of a command, of its undoing and of its redoing; all are read at the end, which is faster."""
        self.do(line)
        later = [json.loads(self.do(f"{verb} --json"))["operation"] for verb in ("undo", "redo")]
        new = self.take_new()
        return [row for row in new if row["source"] not in later], *(
            [r for r in new if r["source"] == i] for i in later
        )


def added(row):
    """Return a row with CREATE for APPEND, which is what the opposite of DELETE is."""
    return row.replace("APPEND", "CREATE")


def opposite_of(row):
    verb, _, field = added(row).partition(" ")
    return f"{OPPOSITE[verb]} {field}"


def participants(rows):
    """Return who took part for the first time or no more."""
    found = (row for row in rows if row["field_path"] == "participants")
    return sorted(f"{added(row['operation'])} {row['after'] or row['before']}" for row in found)


def shown(rows, *, with_cause=True):
    """Return operation, field and cause of each row but those of messages and branches."""
    kept = [row for row in rows if not STATE.match(row["field_path"])]
    fields = [(row["operation"], ID.sub("ID", row["field_path"]), row["cause"]) for row in kept]
    return sorted(" ".join(each if with_cause else each[:2]) for each in fields)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return Log(tmp_path)


def test_the_table_has_every_command_that_writes():
    writing = {path: each.section for path, each in TABLE.commands.items() if not each.pages}
    names = {" ".join(path) for path, section in writing.items() if section in {AGENTS, PROPOSE, FACTS, SECRETS}}
    names |= {" ".join(path[1:]) for path in writing if "conflicts" in path} | {"inbox"}
    without_undo = {"purge", "retention run"}  # what they remove is to be nowhere, so they change no earlier row
    copies = {"redact"}  # makes another conversation
    done = {name for name in names if any(step[0].startswith(f"{name} ") for step in STEPS)}
    assert names - done == without_undo | copies


def test_every_command_leaves_the_rows_of_what_it_changed_and_undo_and_redo_the_opposite_and_the_same(log):
    chosen = sample(STEPS, 20)
    for line, *expected in STEPS:
        rows, *others = log.undo_and_redo(line) if (line, *expected) in chosen else (log.run(line),)
        assert shown(rows) == sorted(expected), line
        assert rows, line
        assert all(row["before"] != row["after"] for row in rows), line
        assert len({(row["source"], row["time"]) for row in rows}) == len({row["source"] for row in rows}), line
        if others:
            check_undone_and_redone(shown(rows, with_cause=False), *others)
    assert [row["after"] for row in log.known["CONV"] if row["field_path"] == "participants"].count(None) == 3


def check_undone_and_redone(done, undone, redone):
    assert sorted(map(opposite_of, shown(undone, with_cause=False))) == sorted(map(added, done))
    assert shown(redone, with_cause=False) == done
    assert {row["cause"] for row in undone + redone} <= {"user:user"}
    assert participants(undone) == sorted(map(opposite_of, participants(redone)))


def test_what_the_time_ends_has_a_row_of_the_system(log, monkeypatch):
    log.run("facts propose CONV Seeds slow --id one --expires 1h --as ann")
    log.run("proposals create CONV task/42 status=a --expires 1h --as ann")
    read = clock.read_clock
    monkeypatch.setattr(clock, "read_clock", lambda: read() + 2 * 3600 * 10**9)
    assert shown(log.take_new()) == ["UPDATE proposals.ID system", "UPDATE proposed_facts.Seeds.one system"]
    assert log.take_new() == []


def test_reading_and_testing_leave_no_row(log):
    log.run("proposals create CONV task/42 status=a --as ann")
    assert log.run("proposals test CONV LAST") == []
    assert log.run("proposals list CONV") == []
