"""The manual of `facts run` describes what programs read and write: its examples are compared with the code."""

from __future__ import annotations

import json

from scopes.agents.register import register
from scopes.cli.command_help import read_manual, split_manual
from scopes.cli.main import main
from scopes.conversation.new_rename_delete import new
from scopes.facts.decide import accept
from scopes.facts.programs import read_effects
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.result import confidence
from tests.facts.statements import agent

MANUAL = dict(split_manual(read_manual(("facts", "run"))))
PROGRAMS = MANUAL["PROGRAMS OF AGENTS"]


def examples():
    """Return the JSON objects of the manual: what a program reads, and what it writes."""
    blocks = [block for block in PROGRAMS.split("\n\n") if block.startswith("  {")]
    return [json.loads(block) for block in blocks]


def shape(value):
    """Return the names of the fields of a document, and of those in it."""
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else None


def test_a_program_reads_the_fields_that_the_manual_shows(repository, tmp_path):
    new(repository)
    register(repository, "analyst", dependencies=["Seeds"])
    propose(repository, "conv-001", Proposal(key="Seeds", content="images are slow", agent="carol", id="slow"))
    accept(repository, "conv-001", "slow", actor="carol")
    run_programs(repository, "conv-001", {"analyst": f"cat > {tmp_path}/input"}, RunLimits())
    read = json.loads((tmp_path / "input").read_text())
    assert shape(read) == shape(examples()[0])


def test_what_the_manual_writes_is_read(repository):
    written = examples()[1]
    found = read_effects(json.dumps(written).encode(), agent(1))
    assert (len(found.facts), len(found.questions), found.traces) == (1, 1, ("read 1 fact",))
    fact = found.facts[0]
    assert (fact.key, fact.id, fact.invalidates, fact.confidence) == ("Hypotheses", "cold-cache", "warm-cache", 0.7)
    least = {"facts": [{"key": "Seeds", "content": "x"}]}
    assert read_effects(json.dumps(least).encode(), agent(1)).facts[0].confidence == 1.0


def test_help_prints_the_manual_of_a_command_on_request(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["help", "facts", "run", "--all"]) == 0
    printed = capsys.readouterr().out
    assert "Programs of agents\nThe program of an agent is any command." in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert main(["help", "bisect", "--all"]) == 0
    assert "Programs of agents" not in capsys.readouterr().out


def test_the_manual_has_the_bands_of_confidence():
    text = " ".join(MANUAL["CONFIDENCE"].split())
    for bound in (0.2, 0.4, 0.6, 0.8):
        assert f"from {bound} {confidence(bound).partition(' (')[0]}" in text
    assert confidence(0.19).startswith("Very Low (")
