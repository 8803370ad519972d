"""`import --list`: what the agents have, and what of it is new."""

from __future__ import annotations

import os

import pytest

from scopes.errors import NotFound
from scopes.importers import found_transcripts
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.found_transcripts import list_transcripts
from scopes.importers.import_sources import import_sources
from tests.importers.databases import LLM_RESPONSES, make_database, response_row
from tests.importers.formats.gemini.test_gemini import FILE, lines
from tests.importers.formats.test_pi import MESSAGES, session_file
from tests.support.store import make_store

OLD = 1_700_000_000


@pytest.fixture
def home(tmp_path):
    """A home with sessions of two agents."""
    write(tmp_path / ".pi/agent/sessions/p/a.jsonl", session_file(*MESSAGES))
    write(tmp_path / ".gemini/tmp/shop/chats/session-1.jsonl", lines(*FILE))
    return tmp_path


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (OLD, OLD))
    return path


def listed(home, store=None, **options):
    """Return what is found of each agent."""
    found = list_transcripts(store, FORMATS, {}, str(home), **options)
    return {each.agent: each for each in found.agents}


def counts(home, store=None):
    return {name: (each.files, each.new) for name, each in listed(home, store).items()}


def import_home(home, store):
    import_sources(store, [source for name in (".pi", ".gemini") for source in find_sources(str(home / name))], FORMATS)


def test_each_agent_has_its_folders_files_bytes_and_newest_time(home):
    found = listed(home)
    assert list(found) == ["Gemini CLI", "pi"]
    (size,) = (len(session_file(*MESSAGES)),)
    assert found["pi"].folders == (str(home / ".pi/agent/sessions"),)
    assert (found["pi"].files, found["pi"].size, found["pi"].newest) == (1, size, "2023-11-14T22:13:20Z")


def test_what_was_imported_is_not_new_until_it_grows(home):
    store = make_store(home / "store.git")
    assert counts(home, store) == counts(home) == {"Gemini CLI": (1, 1), "pi": (1, 1)}
    import_home(home, store)
    assert counts(home, store) == {"Gemini CLI": (1, 0), "pi": (1, 0)}
    with open(home / ".pi/agent/sessions/p/a.jsonl", "ab") as stream:
        stream.write(b"\n")
    write(home / ".gemini/tmp/shop/chats/session-2.jsonl", lines(*FILE))
    assert counts(home, store) == {"Gemini CLI": (2, 1), "pi": (1, 1)}


def test_a_database_is_one_file_and_new_when_it_was_changed_after_the_last_import(home):
    database = home / ".config/io.datasette.llm/logs.db"
    database.parent.mkdir(parents=True)
    make_database(database, LLM_RESPONSES, [response_row(1, "Hi", "Hello")])
    os.utime(database, (OLD, OLD))
    store = make_store(home / "store.git")
    assert counts(home, store)["llm"] == (1, 1)
    import_sources(store, find_sources(str(database)), FORMATS)
    assert counts(home, store)["llm"] == (1, 0)
    os.utime(database, (OLD * 3, OLD * 3))
    assert counts(home, store)["llm"] == (1, 1)


def test_only_the_beginning_of_a_file_is_read(home, monkeypatch):
    """A file whose rest cannot be read as a session is listed all the same."""
    with open(home / ".pi/agent/sessions/p/a.jsonl", "ab") as stream:
        stream.write(b"\xff" * (1 << 20))
    monkeypatch.setattr(type(FORMATS[5]), "walk_events", None)
    assert counts(home)["pi"] == (1, 1)


def test_other_files_are_counted_apart(home):
    write(home / ".gemini/tmp/shop/checkpoint-a.json", b"[]")
    found = listed(home)["Gemini CLI"]
    assert (found.files, found.unknown, found.problems) == (1, 1, ())


def test_a_file_that_cannot_be_read_is_a_problem_of_its_agent_alone(home, monkeypatch):
    def choose(formats, source):
        if source.path.endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied", source.path)
        return formats[0]

    monkeypatch.setattr(found_transcripts, "choose_format", choose)
    found = listed(home)
    assert (found["pi"].files, len(found["pi"].problems), found["Gemini CLI"].files) == (0, 1, 1)


def test_each_file_is_a_step_of_the_progress(home):
    ticks = []
    listed(home, on_progress=ticks.append)
    assert ticks == [1, 1]


@pytest.mark.parametrize("folders", [[], [".claude/projects"]])
def test_without_transcripts_the_error_names_the_places(tmp_path, folders):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(NotFound) as error:
        listed(tmp_path)
    for place in ("~/.claude/projects", "~/.gemini/tmp", "~/.config/io.datasette.llm/logs.db"):
        assert place in error.value.hint
