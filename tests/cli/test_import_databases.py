"""`scopes import` of databases: from their standard places, by name, from a pipe, and as they change."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.importers.databases import (
    LLM_RESPONSES,
    dialog,
    make_database,
    opencode_database,
    opencode_folder,
    response_row,
)


@pytest.fixture
def home(tmp_path):
    """A home with a database of OpenCode, its older folder, and a database of llm."""
    data = tmp_path / ".local/share/opencode"
    data.mkdir(parents=True)
    opencode_database(data / "opencode.db", *dialog("hello", "hi"))
    opencode_folder(data / "storage", dialog("older", session="ses_e032old", prefix="msg_0fcd"))
    (tmp_path / "llm").mkdir()
    make_database(tmp_path / "llm/logs.db", LLM_RESPONSES, [response_row(1, "why?", "so")])
    return tmp_path


def run(home, *words):
    """Run a command in this home."""
    environ = {"HOME": str(home), "XDG_DATA_HOME": "", "LLM_USER_PATH": str(home / "llm")}
    return scopes("--store", str(home / "store.git"), *words, table=PRODUCT, env=environ)


def test_without_a_path_the_databases_in_the_standard_places_are_imported(home):
    done = run(home, "import", "--json")
    found = json.loads(done.stdout)
    assert sorted(source["format"] for source in found["sources"]) == ["llm", "opencode", "opencode"]
    assert [found["warnings"], "OpenCode: 2 transcripts" in done.stderr] == [[], True]
    assert len(found["conversations"]) == 3


def test_a_second_import_changes_nothing(home):
    run(home, "import")
    again = json.loads(run(home, "import", "--json").stdout)
    assert [row["new_messages"] for row in again["conversations"]] == [0, 0, 0]


def test_sessions_of_standard_places_belong_to_their_projects(home):
    """They were not named by the user, so a store of a project takes only its own."""
    project = home / "shop"
    project.mkdir()
    done = json.loads(run(home, "import", "--project", str(project), "--json").stdout)
    assert done["conversations"] == []


def test_a_damaged_database_is_named(home):
    path = home / ".local/share/opencode/opencode.db"
    path.write_bytes(path.read_bytes()[:5000])
    done = run(home, "import", str(path))
    assert (done.returncode, "cannot be read" in done.stderr) == (7, True)
