"""`scopes mcp status` and `scopes skills status` on the command line, and what doctor says about both."""

from __future__ import annotations

import json
import os

import pytest

from scopes.cli.schemas import read_schemas
from scopes.handover.skills import FOLDERS
from scopes.hosts.mcp_servers import HOSTS
from tests.cli.running import PRODUCT, scopes

jsonschema = pytest.importorskip("jsonschema")
NAMES = {"mcp": HOSTS, "skills": FOLDERS}
CHECKS = {"mcp": "mcp server of", "skills": "skill of"}
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
    document = json.loads(run(noun, "status", *words, "--json").stdout)
    jsonschema.Draft202012Validator(read_schemas()["documents"][f"{noun}-status"]).validate(document)
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
    run(noun, "install", "gemini")
    agent, condition, problem, file = run(noun, "status", "gemini").stdout.rstrip("\n").split("\t")
    assert (agent, condition, problem, os.path.isfile(file)) == ("gemini", "installed", "", True)
    run(noun, "remove", "gemini")
    assert [row["condition"] for row in rows(noun, "gemini")] == ["missing"]


@each_noun
def test_status_makes_no_store_and_no_file(noun, project):
    run(noun, "status")
    assert not os.path.exists(os.environ["SCOPES_STORE"])
    assert list(project.iterdir()) == []


def test_another_store_makes_a_server_outdated_and_the_note_says_how_to_mend_it(tmp_path):
    run("setup", "codex", "--only", "mcp")
    done = run("--store", str(tmp_path / "other.git"), "setup", "--status", "--only", "mcp", "codex")
    assert done.stdout.split("\t")[1] == "outdated"
    assert f"to bring it up to date: scopes --store {tmp_path}/other.git mcp install codex" in done.stderr
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "mcp")
    assert (
        run("--store", str(tmp_path / "other.git"), "setup", "--status", "--only", "mcp", "codex").stdout.split("\t")[1]
        == "installed"
    )


def test_a_skill_of_the_project_is_shown_with_that_of_the_user(project):
    run("setup", "claude-code", "--only", "skill", "--project")
    assert [row.get("in_project", False) for row in rows("skills", "claude-code")] == [False, True]
    assert rows("skills", "claude-code")[1]["file"] == str(project / ".claude/skills/scopes/SKILL.md")


def test_doctor_says_nothing_about_what_is_not_installed():
    assert [name for name in checks() if name.startswith(tuple(CHECKS.values()))] == []


@each_noun
def test_doctor_names_what_is_installed(noun):
    run(noun, "install", "gemini")
    assert checks()[f"{CHECKS[noun]} gemini"] == ("ok", None)


def test_doctor_warns_of_what_is_outdated_or_unreadable(tmp_path, sealed_world):
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "mcp")
    run("setup", "gemini", "--only", "mcp")
    (sealed_world / ".gemini/settings.json").write_text('// mine\n{"mcpServers": {"scopes": 1}}')
    skill = sealed_world / ".claude/skills/scopes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nmetadata:\n  generator: scopes\n  checksum: 0\n---\nold words\n")
    found = checks()
    store = os.environ["SCOPES_STORE"]
    assert found["mcp server of codex"] == ("warning", f"scopes --store {store} mcp install codex")
    assert found["mcp server of gemini"] == ("warning", "fix the file")
    assert found["skill of claude-code"] == ("warning", "scopes skills install claude-code --force")


@each_noun
def test_an_unknown_target_is_a_mistake_with_the_names_of_those_that_are_known(noun):
    done = run(noun, "status", "emacs", code=2)
    assert all(name in done.stderr for name in NAMES[noun])


@each_noun
def test_fields_are_those_of_the_rows(noun):
    """There was one empty row, and with --json no data at all."""
    word = "server" if noun == "mcp" else "skill"
    expected = [(row["target"], row["condition"]) for row in rows(noun)]
    assert len(expected) == len(NAMES[noun])
    lines = run(noun, "status", "--fields", f"agent,{word}").stdout.splitlines()
    assert [tuple(line.split("\t")) for line in lines] == expected
    chosen = rows(noun, "--fields", "target,condition,file")
    assert [(each["target"], each["condition"]) for each in chosen] == expected
