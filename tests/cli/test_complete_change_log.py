"""Commands with which agents and people write leave rows in the change log (S4-49 to S4-52).

Proposals, conflicts, collaborations and facts have none of their own: what was said is in messages.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest

from scopes import clock
from tests.cli.conversation import Conversation
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
STATUS = "entities.task.42.status"
# A command with what follows from it: operation, field and cause of each row but those of messages and branches. ID is
# any id in a field, CONV the conversation, LAST what the last `proposals create` printed.
STEPS = [
    ("agents register ann --capability review --depends-on Seeds",),
    ("agents register carol --type human --away",),
    ("agents register imported --card -",),
    ("agents update ann --capability go --description d",),
    ("agents register ann --away",),
    ("send CONV --to ann --queue look --as carol",),
    ("agents register ann --available",),
    ("inbox ann --ack",),
    ("send CONV --to imported look --as ann",),
    ("agents remove imported",),
    ("proposals create CONV task/42 status=a --as ann",),
    ("proposals create CONV task/42 status=done --as ann",),
    ("proposals accept CONV LAST --no-apply --as carol",),
    ("proposals apply CONV LAST --as carol", f"CREATE {STATUS} user:carol"),
    ("proposals rollback CONV LAST --as carol", f"DELETE {STATUS} user:carol"),
    ("proposals create CONV task/42 status=b --as bob",),
    ("proposals create CONV task/42 status=b --as ann",),
    ("proposals accept CONV LAST --set status=c --as carol", f"CREATE {STATUS} user:carol"),
    ("proposals create CONV task/42 status=e --as ann",),
    ("proposals reject CONV LAST --reason too-risky --as carol",),
    ("append CONV 'key KEY' --as bob",),
    ("secrets allow SECRET --reason sample",),
    ("secrets allow SECRET --reason other",),
    ("secrets allow SECRET --remove",),
    ("facts propose CONV Seeds slow --data '{\"id\": \"one\"}\' --as ann",),
    ("facts accept CONV one --as carol",),
    ("facts propose CONV Risks loss --new-key --data '{\"id\": \"two\"}' --as ann",),
    ("facts accept CONV two --as carol",),
    ("facts propose CONV Seeds no --data '{\"id\": \"three\"}\' --as ann",),
    ("facts reject CONV three --reason old --as carol",),
    (f"facts run CONV --agent {PROGRAM}",),
    ("facts decide CONV q approved --as carol",),
    ("collaborate CONV --type consensus --agents ann --task T --as carol",),
    (f"collaborate argue {BRANCH} --as ann",),
    (f"collaborate argue {BRANCH} JWT --as ann",),
    (f"collaborate argue {BRANCH} Cookies --as bob",),
    (f"collaborate argue {BRANCH} Both --as ann",),
    (f"append {BRANCH} redis --kind decision --topic queue --as ann", "CREATE decisions.queue agent:ann"),
    (f"append {BRANCH} a --kind decision --topic name --as ann", "CREATE decisions.name agent:ann"),
    ("append CONV/main pg --kind decision --topic queue --as bob", "CREATE decisions.queue agent:bob"),
    ("append CONV/main b --kind decision --topic name --as bob", "CREATE decisions.name agent:bob"),
    ("merge CONV --source collaboration/consensus --target main",),
    ("conflicts argue CONV 1 redis --as ann",),
    ("conflicts argue CONV 1 pg --as bob",),
    ("conflicts argue CONV 1 both --as ann",),
    ("conflicts escalate CONV 1 --to carol --as ann",),
    ("conflicts resolve CONV 1 --take source --as carol",
     "UPDATE decisions.name user:carol"),
    ("conflicts resolve CONV 2 --take source --override --reason r --as carol",
     "UPDATE decisions.queue user:carol"),
    ("merge CONV --continue",
     "UPDATE branches.conflict-resolution/collaboration-consensus-into-main.status user:user"),
    (f"collaborate close {BRANCH} --outcome JWT --as carol",),
]  # fmt: skip
STATE = re.compile(r"(messages|participants|active_branch)\b|branches\.(?!.*\.status$)")
ID = re.compile(r"(?<=\.)([a-z2-7]{26}|[0-9a-f]{12}|[0-9a-f]{32})(?=\.|$)")


class Log:
    """A store, and the change log of its conversation as it was read last."""

    def __init__(self, path):
        self.store = Conversation(path)
        self.known = []
        self.last = ""
        self.take_new()

    def take_new(self):
        """Return the new rows; those from before are the same, and times do not go back."""
        rows = self.store.run("changes", self.store.id, "--json", "--quiet")
        new, known = rows[len(self.known) :], self.known
        assert rows[: len(known)] == known
        times = [clock.parse_time(row["time"]) for row in rows]
        assert times == sorted(times)
        self.known = rows
        return new

    def do(self, line):
        words = [
            word.replace("CONV", self.store.id).replace("LAST", self.last).replace("KEY", KEY)
            for word in shlex.split(line)
        ]
        if "SECRET" in words:
            found = json.loads(self.store.run_main("secrets", "list", "-a", "--json").stdout)["secrets"]
            words[words.index("SECRET")] = found[0]["id"]
        done = self.store.run_main(*words, given=CARD)
        assert done.returncode == (3 if "--source" in words else 0), done.stderr
        self.last = done.stdout.strip() if line.startswith("proposals create") else self.last
        return done.stdout

    def run(self, line):
        self.do(line)
        return self.take_new()


def shown(rows):
    """Return operation, field and cause of each row but those of messages and branches."""
    kept = [row for row in rows if not STATE.match(row["field_path"])]
    return sorted(f"{row['operation']} {ID.sub('ID', row['field_path'])} {row['cause']}" for row in kept)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return Log(tmp_path)


def test_commands_leave_the_rows_of_what_they_changed(log):
    for line, *expected in STEPS:
        rows = log.run(line)
        assert shown(rows) == sorted(expected), line
        assert all(row["before"] != row["after"] for row in rows), line
        assert len({(row["source"], row["time"]) for row in rows}) == len({row["source"] for row in rows}), line


def test_reading_and_testing_leave_no_row(log):
    log.run("proposals create CONV task/42 status=a --as ann")
    assert log.run("proposals test CONV LAST") == []
    assert log.run("proposals list CONV") == []
