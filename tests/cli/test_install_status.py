"""`scopes setup`: servers and skill files, how they are, and what doctor says about both."""

from __future__ import annotations

import json
import os

import pytest

from scopes.cli.schemas import read_schemas
from scopes.handover.skills import FOLDERS
from scopes.hosts.mcp_servers import HOSTS
from tests.cli.running import PRODUCT, scopes

jsonschema = pytest.importorskip("jsonschema")
NAMES = {"mcp": HOSTS, "skill": FOLDERS}
CHECKS = {"mcp": "mcp server of", "skill": "skill of"}
each_noun = pytest.mark.parametrize("noun", NAMES)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def run(*words, code=0):
    done = scopes(*words, table=PRODUCT)
    assert done.returncode == code, done.stderr
    return done


def rows(noun, *words):
    document = json.loads(run("setup", *words, "--status", "--only", noun, "--json").stdout)
    jsonschema.Draft202012Validator(read_schemas()["documents"][document["kind"]]).validate(document)
    return document["servers" if noun == "mcp" else "skills"]


def checks():
    found = json.loads(run("doctor", "--json").stdout)["checks"]
    return {check["name"]: (check["state"], check.get("cure")) for check in found}


@each_noun
def test_status_has_a_row_for_each_target_or_for_those_that_are_named(noun):
    assert [row["target"] for row in rows(noun)] == list(NAMES[noun])
    assert [row["target"] for row in rows(noun, "gemini", "claude")] == ["gemini", "claude-code"]


@each_noun
def test_status_shows_what_was_installed_and_removed(noun):
    run("setup", "gemini", "--only", noun)
    agent, condition, problem, file = run("setup", "gemini", "--status", "--only", noun).stdout.rstrip("\n").split("\t")
    assert (agent, condition, problem, os.path.isfile(file)) == ("gemini", "installed", "", True)
    run("setup", "gemini", "--only", noun, "--remove")
    assert [row["condition"] for row in rows(noun, "gemini")] == ["missing"]


@each_noun
def test_status_makes_no_store_and_no_file(noun, project):
    run("setup", "--status", "--only", noun)
    assert not os.path.exists(os.environ["SCOPES_STORE"])
    assert list(project.iterdir()) == []


def test_another_store_makes_a_server_outdated_and_the_note_says_how_to_mend_it(tmp_path):
    run("setup", "codex", "--only", "mcp")
    done = run("--store", str(tmp_path / "other.git"), "setup", "--status", "--only", "mcp", "codex")
    assert done.stdout.split("\t")[1] == "outdated"
    assert f"to bring it up to date: scopes --store {tmp_path}/other.git setup codex --only mcp" in done.stderr
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "mcp")
    assert (
        run("--store", str(tmp_path / "other.git"), "setup", "--status", "--only", "mcp", "codex").stdout.split("\t")[1]
        == "installed"
    )


def test_a_skill_of_the_project_is_shown_with_that_of_the_user(project):
    run("setup", "claude-code", "--only", "skill", "--here")
    assert [row.get("in_project", False) for row in rows("skill", "claude-code")] == [False, True]
    assert rows("skill", "claude-code")[1]["file"] == str(project / ".claude/skills/scopes/SKILL.md")


def test_doctor_says_nothing_about_what_is_not_installed():
    assert [name for name in checks() if name.startswith(tuple(CHECKS.values()))] == []


@each_noun
def test_doctor_names_what_is_installed(noun):
    run("setup", "gemini", "--only", noun)
    assert checks()[f"{CHECKS[noun]} gemini"] == ("ok", None)


def test_doctor_warns_of_what_is_outdated_or_unreadable(tmp_path, sealed_world):
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "mcp")
    run("setup", "gemini", "--only", "mcp")
    (sealed_world / ".gemini/settings.json").write_text('// mine\n{"mcpServers": {"scopes": 1}}')
    skill = sealed_world / ".claude/skills/scopes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nmetadata:\n  generator: scopes\n---\nold words\n")
    found = checks()
    store = os.environ["SCOPES_STORE"]
    assert found["mcp server of codex"] == ("warning", f"scopes --store {store} setup codex --only mcp")
    assert found["mcp server of gemini"] == ("warning", "fix the file")
    assert found["skill of claude-code"] == ("warning", "scopes setup claude-code --only skill")


@each_noun
def test_an_unknown_target_is_a_mistake_with_the_names_of_those_that_are_known(noun):
    done = run("setup", "emacs", "--only", noun, code=2)
    assert all(name in done.stderr for name in NAMES[noun])


def test_what_is_here_is_connected_and_taken_out_again(sealed_world):
    """Without a name: the agents that are installed or have been used here."""
    assert "no agent was found here" in run("setup", code=4).stderr
    (sealed_world / ".codex").mkdir()
    before = sorted(sealed_world.rglob("*"))
    shown = [json.loads(line) for line in run("setup", "--dry-run", "--json").stdout.splitlines()]
    assert [each["kind"] for each in shown] == ["hooks-changed", "host", "skill-changed"]
    assert sorted(sealed_world.rglob("*")) == before
    run("setup")
    connected = [json.loads(line) for line in run("setup", "codex", "--status", "--json").stdout.splitlines()]
    states = [row["condition"] for each in connected for row in next(v for v in each.values() if isinstance(v, list))]
    assert states == ["installed"] * 3
    assert len(run("setup", "--remove").stdout.splitlines()) == 3
    assert run("setup", "--remove").stdout == ""


def test_what_cannot_be_changed_does_not_keep_the_rest_from_being_connected(sealed_world):
    (sealed_world / ".codex").mkdir()
    (sealed_world / ".codex/hooks.json").write_text("{} // mine\n")
    done = run("setup", "codex", code=1)
    assert "hooks.json is not plain JSON" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_a_server_has_the_author_of_as():
    done = run("--as", "critic", "setup", "codex", "--only", "mcp", "--dry-run")
    assert '"mcp", "--as", "critic"]' in done.stdout


def test_for_a_directory_only_what_can_be():
    assert "is not possible for a directory" in run("setup", "codex", "--here", "--only", "mcp", code=2).stderr
    assert "parts: hooks, mcp, skill" in run("setup", "codex", "--only", "tools", code=2).stderr
