"""P4, P5, P6: processes that run mixed commands on one store while others are killed lose nothing; see `chaos`."""

from __future__ import annotations

import json
import os

import pytest

from scopes import clock
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from tests.faults.chaos import KILLED, Plan, Report, walk_losses
from tests.faults.processes import assert_sound, start
from tests.faults.seed import todays_seed
from tests.support.examples import amount
from tests.support.random_ids import hashed_counter

RUN = "from tests.faults.chaos import main; main()"


@pytest.fixture
def directory(fast_directory, request):
    """Make a directory for the store and the files of the workers."""
    path = os.path.join(fast_directory, request.node.name.replace("/", "_"))
    os.mkdir(path)
    return path


def run_plan(directory: str, **settings: object) -> dict:
    """Run a plan and check what must hold after every run; return the report."""
    settings = {"directory": directory, "seed": todays_seed(), **settings}
    process = start(RUN, json.dumps(settings))
    out, err = process.communicate(timeout=3600)
    assert (process.returncode, err) == (0, "")
    report = json.loads(out)
    print({key: value for key, value in report.items() if key not in {"verbs", "failures"}})
    assert report["failures"] == []
    assert report["false_alarms"] == []
    assert report["lost"] == []
    assert report["killed"] == report["codes"].get(str(KILLED), 0)
    store = Plan(**settings).store
    finished = start(
        "from scopes.cli.main import main; main()",
        "append",
        "keep-1/main",
        "the end",
        environment={"SCOPES_STORE": store},
    )
    _, err = finished.communicate(timeout=60)
    assert (finished.returncode, err) == (0, "")
    assert_sound(store)
    return report


def test_a_sample_of_mixed_commands_with_kills_loses_nothing(directory):
    """P4, P5, P6."""
    commands = amount(60, 9)
    report = run_plan(directory, workers=3, commands=commands, orphan_after=0.2)
    assert report["commands"] >= commands
    assert report["acknowledged"] > 0


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("workers", "expire"), [(6, Plan.expire), (13, "1 second ago")])
def test_four_thousand_mixed_commands_with_kills_lose_nothing(directory, workers, expire):
    """P4, P5, P6."""
    report = run_plan(directory, workers=workers, commands=4000, verifies=150, expire=expire)
    assert report["commands"] >= 4000
    assert report["killed"] > 200
    assert report["verifies"] >= 150
    assert report["acknowledged"] > 1000


def test_lost_messages_and_operations_would_be_noticed(repository, tmp_path, monkeypatch):
    """Otherwise a check that never fails would go unnoticed."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    new(repository)
    one, two = (append(repository, "conv-001", plain_message("w0", text)).id for text in ("w0/1", "w0/2"))
    report = Report(
        messages={one: "w0/1", two: "w0/7", "gone": "w0/3", "kept": "w0/4"}, kept=["kept"], imported=["w0/5"],
        groups=[["w0/1", "w0/6"]], operations=["k3x9"],
    )  # fmt: skip
    assert list(walk_losses(Plan(directory=str(tmp_path), seed=1), report)) == [
        f"message {two} has another text: 'w0/2', not 'w0/7'",
        "message gone (w0/3) is on no branch, and no operation took it back",
        "message kept (w0/4) is on no branch, and nobody takes back messages there",
        "imported message 'w0/5' is lost",
        "only a part of an atomic append is there: ['w0/1'] of ['w0/1', 'w0/6']",
        "operation k3x9 is not in the log",
    ]
