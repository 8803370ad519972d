"""The table of what leaves: 31 kinds in 14 forms by every door, and 31 kinds that a subject or a title cuts."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.support.examples import spread
from tests.support.planted import FORMS, KINDS, MISSED, leaked_parts
from tests.support.planted_store import OFFSETS, WORDS, is_cut, plant_cuts, plant_forms

BIG = "--max-tokens 1000000"
DOORS = {
    "export as JSON": "export CONV --format json",
    "export as JSON lines": "export CONV --format jsonl",
    "export for OpenAI": "export CONV --format openai",
    "export as Markdown": "export CONV --format markdown",
    "export of all branches": "export CONV --all --format markdown",
    "export to a file": "export CONV --output FILE --force",
    "context": f"context CONV {BIG}",
    "context as an object": f"context CONV {BIG} --json",
    "context as messages": f"context CONV {BIG} --format messages",
    "context that is explained": f"context CONV {BIG} --explain",
    "history for a prompt": f"context CONV --for-prompt -n 100 {BIG}",
    "history as an object": f"context CONV --for-prompt -n 100 --json {BIG}",
    "history with memory": f"context CONV --for-prompt -n 100 --memory project {BIG}",
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    return plant_forms(tmp_path_factory.mktemp("forms"))


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    return plant_cuts(tmp_path_factory.mktemp("cuts"))


def leaving(planted, door, name, tmp_path, *more):
    """Return what leaves by a door: what is printed, and the file."""
    file = tmp_path / "out.txt"
    words = [word.replace("CONV", planted.ids[name]).replace("FILE", str(file)) for word in DOORS[door].split()]
    done = planted.run(*words, *more)
    return done, done.stdout + done.stderr + (file.read_text() if file.exists() else "")


def undone(text):
    """Return a text with the texts in a JSON document as they are behind its escapes."""
    try:
        return f"{text}\n{json.dumps(json.loads(text), ensure_ascii=False)}\n" + "\n".join(_texts(json.loads(text)))
    except ValueError:
        return text


def _texts(value):
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.cases(len(DOORS))
def test_no_kind_in_a_form_leaves_by_a_door_that_redacts(forms, tmp_path, door, form):
    done, text = leaving(forms, door, form, tmp_path, "--secrets", "redact")
    assert done.returncode == 0, done.stderr
    left = undone(text)
    for kind, secret in KINDS:
        assert leaked_parts(kind, secret, left) == [], kind
    assert text.count("[redacted:") >= len(KINDS) or "explained" in door  # subjects may be cut in front of a secret


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.cases(len(DOORS))
def test_a_door_refuses_every_form_and_writes_nothing(forms, tmp_path, door, form):
    done, text = leaving(forms, door, form, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "out.txt").exists()
    for kind, secret in KINDS:
        assert leaked_parts(kind, secret, text) == [], kind


@pytest.mark.parametrize("door", ["export as JSON", "context as an object", "history as an object"])
def test_hex_and_words_that_lines_divide_leave_as_the_manual_says(forms, tmp_path, door):
    """A test that fails when they are found: then the manual says too little."""
    _, in_hex = leaving(forms, door, "hex", tmp_path, "--secrets", "redact")
    _, wrapped = leaving(forms, door, "wrapped over lines", tmp_path, "--secrets", "redact")
    assert sum(MISSED["hex"](secret) in in_hex for _, secret in KINDS) == len(KINDS)
    assert sum(secret[12:] in undone(wrapped) for _, secret in KINDS) >= len(KINDS) - 2


def test_the_scan_finds_every_kind_in_every_form_and_shows_none(forms):
    for form in FORMS:
        done = forms.run("secrets", "list", forms.ids[form], "--json")
        assert done.returncode == 1
        rules = {row["rule"] for row in json.loads(done.stdout)["secrets"]}
        missing = {kind for kind, _ in KINDS} - rules
        assert missing == set() or rules == {"auth-header"} | ({kind for kind, _ in KINDS} - missing)
        for kind, secret in KINDS:
            assert leaked_parts(kind, secret, done.stdout) == [], kind


def test_the_kept_scan_has_no_part_of_a_secret(forms, monkeypatch, tmp_path):
    """The file of the last scan has ids alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forms.run("secrets", "list")
    (kept,) = tmp_path.rglob("secrets.json")
    for kind, secret in KINDS:
        assert leaked_parts(kind, secret, kept.read_text()) == [], kind


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.cases(4)
def test_the_memory_has_no_kind_in_a_form(forms, form):
    for _, secret in KINDS:
        forms.run("memory", "add", f"{form}: {FORMS[form](secret)}")
    text = forms.run("memory", "context", "--secrets", "redact", "--max-chars", "1000000", "--limit", "1000").stdout
    for kind, secret in KINDS:
        assert leaked_parts(kind, secret, text) == [], kind
    assert forms.run("memory", "context").returncode == 1


@pytest.mark.parametrize("door", DOORS)
def test_no_part_of_a_secret_that_a_subject_or_a_title_cuts_leaves(cuts, tmp_path, door):
    """The whole secret in the message is replaced; subjects and titles have only its beginning."""
    planted = list(zip(cuts.ids, KINDS, strict=True))
    for name, (kind, secret) in spread(planted, 6, list(DOORS).index(door)):
        done, text = leaving(cuts, door, name, tmp_path, "--secrets", "redact")
        assert done.returncode == 0, done.stderr
        assert leaked_parts(kind, secret, undone(text)) == [], kind


def test_some_subjects_of_these_stores_are_cut_in_the_middle_of_a_secret():
    """Otherwise the test above would prove nothing."""
    for _, secret in KINDS:
        assert any(is_cut(f"{WORDS[:at]} {secret}") for at in OFFSETS)


def test_a_cut_title_does_not_leave_where_everything_else_is_allowed(cuts, tmp_path):
    """The secrets of a conversation are on the allow-list; what its title has left of one has no id, and is replaced."""
    name, (kind, secret) = next(iter(cuts.ids)), KINDS[0]
    for row in json.loads(cuts.run("secrets", "list", cuts.ids[name], "--json").stdout)["secrets"]:
        cuts.run("secrets", "allow", row["id"])
    done, text = leaving(cuts, "export as Markdown", name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert secret in text
    assert "[redacted:" not in text or kind in text


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "markdown", "gitlab", "github"])
def test_reports_of_a_check_have_no_part_of_a_cut_secret(cuts, tmp_path, form):
    for name, (kind, secret) in list(zip(cuts.ids, KINDS, strict=True))[:: 1 if form == "json" else 6]:
        report = tmp_path / f"report-{cuts.ids[name]}"
        cuts.run("check", cuts.ids[name], "--report", f"{form}={report}")
        assert leaked_parts(kind, secret, report.read_text()) == [], kind


def test_the_search_index_is_no_door_and_has_the_whole_text(cuts, tmp_path, monkeypatch):
    """It is below the user's cache directory, and is deleted with it: what is searched for must be found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    secret = KINDS[1][1]
    assert "github-token" not in cuts.run("search", secret[4:20]).stdout
    assert [path for path in tmp_path.rglob("*.sqlite") if sqlite3.connect(path).execute("select 1").fetchone()]
