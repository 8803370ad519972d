"""An export beside a purge: no file with what was purged gets its name once the purge is done."""

from __future__ import annotations

import json
import os

import pytest

from scopes.errors import Busy, Refused
from scopes.exporters import atomic_save, export
from scopes.exporters.atomic_save import save_unless_purged
from scopes.exporters.html import site
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import Setting
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.every_byte import find_word
from tests.support.history import history
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.store import FAST, open_store

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"
FORMATS = ("markdown", "html", "json", "jsonl", "openai", "atif", "otel")


@pytest.fixture
def drawn(repository):
    return history(repository, f"main: a {WORD} b {WORD}-2 c")


@pytest.fixture
def target(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def purge_word(repository, drawn, tmp_path, word=WORD):
    places = Places(str(tmp_path / "index"))
    purge(open_store(repository), PurgeRequest(conversation=NAME, messages=(drawn.ids[word],)), places)


def act(monkeypatch, module, name, when, acts):
    """Do something before the first piece of an export is read, or after the last one, once for each of `acts`."""
    step, left = getattr(module, name), list(acts)

    def wrapped(*words, **options):
        if when == "before" and left:
            left.pop(0)()
        yield from step(*words, **options)
        if when == "after" and left:
            left.pop(0)()

    monkeypatch.setattr(module, name, wrapped)


def purge_both(repository, drawn, tmp_path):
    for word in (WORD, f"{WORD}-2"):
        purge_word(repository, drawn, tmp_path, word)


def write(repository, path, form):
    return save_unless_purged(
        repository, lambda: export.export(repository, NAME, format_name=form, secrets="allow"), str(path)
    )


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.every_case("each format reads and writes on its own way")
def test_an_export_has_nothing_that_was_purged_while_it_was_written(
    repository, drawn, target, tmp_path, monkeypatch, form, when
):
    act(monkeypatch, export, "clear_pieces", when, [lambda: purge_both(repository, drawn, tmp_path)])
    assert write(repository, target / "file", form).messages == 5
    assert find_word(WORD, target, repository.path) == []
    assert os.listdir(target) == ["file"]
    assert b"[purged]" in (target / "file").read_bytes()


@pytest.mark.parametrize("is_new", [True, False], ids=["a new directory", "one with pages"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.every_case("a new site is renamed as a whole, in an old one each page is")
@pytest.mark.slow
def test_a_site_has_nothing_that_was_purged_while_it_was_written(
    repository, drawn, target, tmp_path, monkeypatch, is_new, when
):
    history(repository, "main: x y")
    place = target / "site"
    if not is_new:
        site.export_site(repository, str(place))
    act(monkeypatch, site, "clear_pieces", when, [lambda: None, lambda: purge_both(repository, drawn, tmp_path)])
    assert site.export_site(repository, str(place), force=not is_new).conversations == 2
    assert find_word(WORD, target, repository.path) == []
    assert os.listdir(target) == ["site"]


@pytest.mark.parametrize("kind", ["file", "site"])
@pytest.mark.every_case("a file and a site are made again each by itself")
def test_a_purge_each_time_leaves_nothing_and_is_an_error(repository, drawn, target, tmp_path, monkeypatch, kind):
    ids = iter(drawn.ids.values())

    def purge_next():
        wanted = PurgeRequest(conversation=NAME, messages=(next(ids),))
        purge(open_store(repository), wanted, Places(str(tmp_path / "index")))

    module = export if kind == "file" else site
    act(monkeypatch, module, "clear_pieces", "after", [purge_next] * 3)
    made = {
        "file": lambda: write(repository, target / "file", "markdown"),
        "site": lambda: site.export_site(repository, str(target / "site")),
    }
    with pytest.raises(Busy, match="purge has deleted objects of the store meanwhile"):
        made[kind]()
    assert os.listdir(target) == []


def test_the_original_is_not_written_with_what_was_purged_meanwhile(repository, target, tmp_path, monkeypatch):
    import_demo(repository, write_transcript(tmp_path / "s1.jsonl", *session_records("s1", "a secret b")))
    words = PurgeRequest(query="secret")
    act(
        monkeypatch, export, "clear_source", "after",
        [lambda: purge(open_store(repository), words, Places(str(tmp_path / "index")))],
    )  # fmt: skip
    with pytest.raises(Refused, match="were purged"):
        write(repository, target / "file", "original")
    assert os.listdir(target) == []


def test_a_purge_waits_while_a_complete_file_gets_its_name(repository, drawn, target, tmp_path, monkeypatch):
    rename, refused = atomic_save._rename, []

    def rename_slowly(*words, **options):
        impatient = open_store(repository, {**FAST, "scopes.locktimeout": Setting("scopes.lockTimeout", "0", "flag")})
        with pytest.raises(Busy) as error:
            purge(
                impatient,
                PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)),
                Places(str(tmp_path / "index")),
            )
        refused.append(error.value)
        rename(*words, **options)

    monkeypatch.setattr(atomic_save, "_rename", rename_slowly)
    write(repository, target / "file", "json")
    assert len(refused) == 1
    assert json.loads((target / "file").read_bytes())


def test_what_is_printed_while_something_is_purged_ends_with_an_error(repository, drawn, tmp_path, monkeypatch):
    act(monkeypatch, export, "clear_pieces", "after", [lambda: purge_both(repository, drawn, tmp_path)])
    made = export.export(repository, NAME, format_name="json", secrets="allow")
    assert WORD.encode() in b"".join(made.pieces)
    with pytest.raises(Busy), made.unless_purged():
        pass
