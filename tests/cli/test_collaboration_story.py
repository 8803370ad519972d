"""The user story as a script: three agents, two positions, a conflict, a neutral third, a person decides, the report."""

from __future__ import annotations

import json

from scopes import clock
from tests.cli.conversation import Conversation
from tests.support.random_ids import hashed_counter


def test_three_agents_agree_on_a_refactoring_with_the_help_of_a_person(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())  # messages have different ids
    store = Conversation(tmp_path)

    def scopes(*words, code=0):
        done = store.run_main(*words)
        assert done.returncode == code, (words, done.stderr)
        return done.stdout

    conv = store.id
    scopes("append", conv, "The login module is to be split.", "--as", "lead")
    for name in ("ann", "bob", "eve"):
        scopes("agents", "register", name, "--capability", "review")
    scopes("agents", "register", "carol", "--type", "human")

    scopes("send", conv, "--as", "lead", "--to", "all", "Read the module first")  # broadcast
    branch = scopes("collaborate", conv, "--type", "joint-analysis", "--agents", "ann,bob", "--task", "Where to split?")
    branch = branch.strip()
    assert [row.split("\t")[5] for row in scopes("inbox", "ann").splitlines()] == [
        "Read the module first", "Where to split?",
    ]  # fmt: skip
    for name, text, confidence in (("ann", "By use case", "0.8"), ("bob", "By layer", "0.6")):
        scopes("collaborate", "argue", branch, "--as", name)
        scopes("collaborate", "argue", branch, text, "--as", name, "--confidence", confidence)
    scopes("append", branch, "--as", "ann", "--kind", "decision", "--topic", "split", "by use case")
    scopes("append", f"{conv}/main", "--as", "bob", "--kind", "decision", "--topic", "split", "by layer")
    scopes("merge", conv, "--source", branch.partition("/")[2], "--target", "main", code=3)
    evidence = {"evidence": [{"type": "technical-constraint", "description": "one team owns each use case"}]}
    for name, position, data in (
        ("ann", "By use case", evidence),
        ("bob", "By layer", {"alternatives": ["By use case"]}),
    ):
        scopes("conflicts", "argue", conv, "1", "--as", name, position, "--data", json.dumps(data))
    scopes("conflicts", "escalate", conv, "1", "--to", "@review", "--reason", "two positions")
    assert "Escalated decisions/split to eve" in scopes("inbox", "eve"), "the only reviewer who is not involved"
    data = json.dumps({"alternatives": ["By layer"]})
    scopes("conflicts", "argue", conv, "1", "--as", "eve", "By use case", "--data", data)
    scopes("conflicts", "escalate", conv, "1", "--reason", "it concerns the teams")
    assert "Escalated decisions/split to carol" in scopes("inbox", "carol")
    scopes("conflicts", "intervene", conv, "1", "--take", "source", "--reason", "teams own use cases", "--as", "carol")
    scopes("merge", conv, "--continue")
    scopes("collaborate", "close", branch, "--as", "lead", "--outcome", "Split by use case")

    report = scopes("collaborate", "show", branch)
    assert "analysis: Where to split?" in report.splitlines()[0]
    for line in (
        "**Outcome:** Split by use case",
        "- ann: 3 messages",
        "No consensus was reached before the end: By use case (1); By layer (1).",
        "- **By use case**, ann, confidence Very High (0.8)",
        "- **split**: by use case (ann)",
    ):
        assert line in report, report
    assert "resolved, intervention, took source, by carol: teams own use cases" in report
    assert "technical-constraint: one team owns each use case" in report
    assert "Compromises: By use case, which bob would accept; By layer, which eve would accept." in report
    assert "- **By use case**, eve" in report
    debates = json.loads(scopes("collaborate", "show", branch, "--json"))["debates"]
    assert [each["phase"] for each in debates] == ["escalation", "compromise"]
    assert scopes("collaborate", "list", conv) == ""
    scopes("verify")
