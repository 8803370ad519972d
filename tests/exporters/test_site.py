"""All conversations as a site: a page for each, an index, and nothing half-written where it is to be."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from scopes.conversation.list import list_conversations
from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, NotFound, Refused, SecretsFound
from scopes.exporters.html import site
from scopes.exporters.html.site import export_site
from scopes.exporters.html.template import read_file
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from tests.exporters.building import message, put
from tests.exporters.test_html import HOSTILE, Page
from tests.support.history import history, say
from tests.support.planted import KINDS

ROW = re.compile(r'<a class="row" href="([^"]*)"><b dir="auto">([^<]*)</b>\n<span class="line">(.*?)</span></a>')
TOKEN = KINDS[1][1]


@pytest.fixture
def written(repository, tmp_path):
    """Write a site, and return the text of its files by name."""

    def write(**options):
        export_site(repository, str(tmp_path / "site"), **options)
        return {each.name: each.read_text() for each in (tmp_path / "site").iterdir()}

    return write


def test_each_conversation_has_a_page_with_all_branches_and_a_row(repository, written):
    import_sample(repository)
    history(repository, "main: a b")
    files = written()
    assert sorted(files) == ["conv-001.html", "conv-002.html", "index.html"]
    assert all(
        Page(text.replace('href="index.html"', "")).is_harmless()
        for name, text in files.items()
        if name != "index.html"
    )
    assert files["conv-001.html"].count("<article") == 15
    assert 'href="index.html"' in files["conv-001.html"]
    rows = {address: (title, line) for address, title, line in ROW.findall(files["index.html"])}
    assert rows["conv-001.html"][0] == "Login fails on Safari"
    for text in ("2026-01-15", "code-analyzer", "15 messages", "3 branches"):
        assert text in rows["conv-001.html"][1]


def test_the_newest_conversations_come_first_by_month(repository, written):
    import_sample(repository)
    history(repository, "main: a")
    index = written()["index.html"]
    days = [re.search(r"\d{4}-\d\d-\d\d", line)[0] for _, _, line in ROW.findall(index)]
    assert days == sorted(days, reverse=True)
    assert re.findall(r"<h2>([^<]*)</h2>", index) == list(dict.fromkeys(day[:7] for day in days))
    assert len(set(days)) == 2


def test_the_index_runs_only_its_own_script_and_shows_hostile_titles_as_text(repository, written):
    for text in HOSTILE:
        if text.isprintable():
            new(repository, title=text)
    index = written()["index.html"]
    found = Page(index)
    assert (found.tags.count("script"), found.tags.count("style"), found.badly_nested) == (1, 1, [])
    assert {value.partition(".")[0][:5] for _, value in found.addresses} == {"conv-"}
    assert "default-src 'none'" in index
    assert re.findall(r"url\(|https?:|innerHTML|fetch\(", read_file("index.js")) == []


def test_an_empty_store_is_an_empty_site(written):
    files = written()
    assert (list(files), ROW.findall(files["index.html"])) == (["index.html"], [])


def test_a_conversation_named_index_does_not_take_the_place_of_the_index(repository, written):
    history(repository, "main: a", conversation="index")
    files = written()
    assert sorted(files) == ["index page.html", "index.html"]
    assert ROW.findall(files["index.html"])[0][0] == "index%20page.html"


def test_secrets_are_refused_and_nothing_is_left(repository, tmp_path):
    history(repository, "main: a")
    new(repository)
    say(repository, "conv-002", f"the key is {TOKEN}")
    with pytest.raises(SecretsFound):
        export_site(repository, str(tmp_path / "site"))
    assert os.listdir(tmp_path) == [each for each in os.listdir(tmp_path) if each.endswith(".git")]


def test_secrets_are_replaced_in_pages_and_in_the_index(repository, written):
    new(repository)
    say(repository, "conv-001", f"the key is {TOKEN}", author={"name": "carol", "kind": "human"})
    files = written(secrets="redact")
    assert all(TOKEN not in text for text in files.values())
    assert all("[redacted:github-token:" in text for text in files.values())


def test_a_directory_with_files_is_refused_and_replaced_with_force(repository, tmp_path, written):
    history(repository, "main: a")
    written()
    (tmp_path / "site" / "notes.txt").write_text("mine")
    with pytest.raises(Refused, match="is not empty") as refusal:
        export_site(repository, str(tmp_path / "site"))
    assert "--force" in refusal.value.hint
    say(repository, "conv-001", "later")
    files = written(force=True)
    assert ("later" in files["conv-001.html"], files["notes.txt"]) == (True, "mine")


def test_an_empty_directory_is_used(repository, tmp_path, written):
    history(repository, "main: a")
    (tmp_path / "site").mkdir()
    assert sorted(written()) == ["conv-001.html", "index.html"]


def test_a_directory_without_its_parent_is_an_error(repository, tmp_path):
    with pytest.raises(NotFound, match="was not found"):
        export_site(repository, str(tmp_path / "a" / "site"))


def test_a_damaged_conversation_is_left_out_with_a_note(repository, tmp_path, monkeypatch):
    history(repository, "main: a")
    history(repository, "main: b")
    select = site.select_messages

    def refuse(repository, where, **options):
        if where == "conv-001":
            raise Corrupt("damaged")
        return select(repository, where, **options)

    monkeypatch.setattr(site, "select_messages", refuse)
    done = export_site(repository, str(tmp_path / "site"))
    assert (done.conversations, done.messages) == (1, 1)
    assert [note.text for note in done.notes] == ["damaged conversations were left out: conv-001"]
    assert sorted(os.listdir(tmp_path / "site")) == ["conv-002.html", "index.html"]


def test_progress_counts_conversations(repository, tmp_path):
    history(repository, "main: a")
    history(repository, "main: b")
    seen = []
    export_site(repository, str(tmp_path / "site"), on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_pages_and_the_index_have_the_titles_of_a_list(repository, written):
    opened = "<ide_opened_file>The user opened a.py.</ide_opened_file>\nFix the parser"
    beginnings = (
        (message("b", opened, author="carol", kind="human"),),
        (replace(message("b", "Review the diff", kind="injected"), kind="prompt"),),
        (message("b", "I begin"), message("c", "Why?", author="carol", kind="human")),
        (message("b", "Done"),),
    )
    for number, messages in enumerate(beginnings, 1):
        name = f"conv-{number:03}"
        new(repository)
        put(repository, "main", list_branch_tips(repository, name)["main"], *messages, conversation=name)
    new(repository, title="Release")
    listed = {row.id: row.heading for row in list_conversations(repository).conversations}
    files = written()
    assert sorted(listed.values()) == ["Done", "Fix the parser", "Release", "Review the diff", "Why?"]
    assert {address.removesuffix(".html"): title for address, title, _ in ROW.findall(files["index.html"])} == listed
    assert {name: re.search("<title>([^<]*)<", files[f"{name}.html"])[1] for name in listed} == listed


def test_what_a_limit_leaves_of_a_secret_is_no_part_of_a_title(repository, written):
    text = f"{'x ' * 45}{TOKEN} in a title that ends within its secret"
    new(repository)
    say(repository, "conv-001", text, author={"name": "carol", "kind": "human"})
    index = written(secrets="redact")["index.html"]
    assert ("x x [redacted:github-token:" in index, TOKEN[:12] in index) == (True, False)
