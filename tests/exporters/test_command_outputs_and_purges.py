"""Records of commits beside a purge: they are made again, without what was purged meanwhile."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from tests.cli.running import PRODUCT, scopes
from tests.code_links.agent_session import SESSION, ClaudeSession
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.store import make_store
from tests.support.worktrees import Project

# Purges a message once a step of a command was done for the first time, and tells how often it was done.
PROGRAM = """
import sys
import {module} as module
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from tests.support.store import open_store
step, calls = module.{name}, []
def stepped(*words, **options):
    found = step(*words, **options)
    calls.append(1)
    if len(calls) == 1:
        purge(open_store({store!r}), PurgeRequest(conversation="conv-001", messages=({message!r},)), Places({index!r}))
    return found
module.{name} = stepped
from scopes.cli.main import main
from scopes.loading import load
code = main(sys.argv[2:], load(sys.argv[1]))
print("steps:", len(calls), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command and purges a message after a step of it."""

    def run(store, step, message, *words, cwd):
        module, _, name = step.partition(":")
        program = PROGRAM.format(
            module=module,
            name=name,
            store=store.path,
            message=message,
            index=str(tmp_path / "index"),
        )
        return scopes("--store", store.path, *words, table=PRODUCT, program=program, cwd=cwd)

    return run


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base")
    return made


@pytest.fixture
def recorded(project, tmp_path):
    """A store with a session that made two commits of the project."""
    store = make_store(tmp_path / "commits.git")
    session = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    for number in ("one", "two"):
        session.prompt(f"Add {number} function")
        session.commit(f"{number} function")
    session.import_now(store)
    return store


def first_message(store):
    return next(iter(log(store, "conv-001", oldest_first=True).items)).head.id


def test_records_of_commits_are_made_again_if_something_is_purged_meanwhile(project, recorded, tmp_path, run):
    words = ("export", "conv-001", "--format", "agent-trace", "--output", str(tmp_path / "traces.jsonl"))
    step = "scopes.exporters.commit_notes:read_uuid"
    done = run(recorded, step, first_message(recorded), *words, cwd=project.directory)
    assert (done.returncode, "steps: 2" in done.stderr) == (0, True), done.stderr
    words = ("export", "conv-001", "--format", "agent-trace")
    after = scopes("--store", recorded.path, *words, table=PRODUCT, cwd=project.directory).stdout
    assert (tmp_path / "traces.jsonl").read_text() == after
    assert json.loads(after.splitlines()[0])["version"] == "0.1"


@pytest.mark.parametrize(
    ("form", "step"),
    [
        ("git-ai", "scopes.exporters.commit_notes:_find_session"),
        ("agent-trace", "scopes.exporters.commit_notes:read_uuid"),
    ],
)
@pytest.mark.every_case("each form writes its notes on its own way")
def test_notes_of_commits_are_made_again_if_something_is_purged_meanwhile(project, recorded, run, form, step):
    words = ("export", "conv-001", "--format", form, "--notes")
    done = run(recorded, step, first_message(recorded), *words, cwd=project.directory)
    assert (done.returncode, "steps: 2" in done.stderr) == (0, True), done.stderr
    notes = project.git("notes", "--ref=scopes", "show", "HEAD")
    assert scopes("--store", recorded.path, *words, table=PRODUCT, cwd=project.directory).returncode == 0
    assert project.git("notes", "--ref=scopes", "show", "HEAD") == notes
