"""`scopes usage`: options, output and exit codes."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.new_rename_delete import new
from tests.cli.running import PRODUCT, scopes
from tests.support.history import history
from tests.support.store import make_store
from tests.usage.answers import OPUS, answer


@pytest.fixture
def store(tmp_path):
    """A store with an answer by a known model and one by an unknown one."""
    repository = make_store(tmp_path / "store.git")
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    new(repository, conversation_id="other", directory="/home/carol/shop")
    answer(repository, "other", "c", time="2026-02-01T10:00:00.5Z", model="stub")
    return str(tmp_path / "store.git")


def usage(store, *words, code=0, env=None):
    """Run the command on a store; returns the finished process."""
    done = scopes("--store", store, "usage", *words, table=PRODUCT, env=env)
    assert done.returncode == code, done.stderr
    return done


def test_a_pipe_has_a_row_for_each_day(store):
    assert usage(store).stdout.splitlines() == [
        "2026-01-05\t1\t1000\t0\t0\t0\t100\t0\t0.007500\t0",
        "2026-02-01\t1\t1000\t0\t0\t0\t100\t0\t\t1",
    ]


def test_json_has_whole_millionths_and_the_source_of_the_prices(store):
    document = json.loads(usage(store, "--by", "month,model", "--json").stdout)
    assert (document["by"], [row.get("cost_micros") for row in document["rows"]]) == (["month", "model"], [7500, None])
    assert (document["total"]["cost_micros"], document["total"]["unpriced"]) == (7500, 1)
    assert (document["prices"]["currency"], document["prices"]["date"][:3]) == ("USD", "202")


def test_options_choose_answers(store):
    for words in (("--model", "opus"), ("conv-001",), ("--until", "2026-01-31"), ("--agent", "claude")):
        assert usage(store, *words).stdout.startswith("2026-01-05\t1")
    assert usage(store, "--project", "/home/carol/shop", "--by", "project").stdout.startswith("shop\t1")
    assert usage(store, "--model", "none").stdout == ""


def test_a_day_as_until_includes_all_of_it(store):
    done = usage(store, "--since", "2026-01-05", "--until", "2026-01-05")
    assert (done.stdout[:12], done.stdout.count("\n"), done.stderr) == ("2026-01-05\t1", 1, "")
    assert usage(store, "--since", "2026-01-05", "--until", "2026-01-05T09:00:00Z").stdout == ""


def test_days_of_the_options_are_those_of_the_rows(store):
    """The answer of 10:00 UTC is on the next day there."""
    for zone, day in (("Pacific/Kiritimati", "2026-01-06"), ("UTC", "2026-01-05")):
        rows = usage(store, "--since", day, "--until", day, env={"TZ": zone}).stdout
        assert rows.startswith(f"{day}\t1"), zone


def test_nothing_that_matches_is_a_note(store):
    for words in (("--model", "typo"), ("--project", "/nope"), ("--since", "2026-01-06", "--until", "2026-01-06")):
        done = usage(store, *words)
        options = " ".join(word for word in words if word.startswith("--"))
        assert (done.stdout, f"note: no answer matches {options}\n" in done.stderr) == ("", True)


def test_templates_have_the_fields(store):
    assert usage(store, "--by", "model", "--format", "{model}: {cost_micros}").stdout.splitlines() == [
        f"{OPUS}: 7500",
        "stub: ",
    ]


def test_prices_are_those_of_the_setting(store, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"currency": "EUR", "models": [{"models": ["stub"], "input": 1000, "output": 0}]}))
    for words, env in ((("-c", f"scopes.prices={path}"), {}), ((), {"SCOPES_PRICES": str(path)})):
        document = json.loads(usage(store, *words, "--json", env=env).stdout)
        assert (document["total"]["cost_micros"], document["prices"]["path"]) == (1, str(path))


def test_a_store_names_no_file_of_prices(store, tmp_path):
    """A received store would decide which file is read."""
    scopes("--store", store, "config", "--local", "scopes.prices", str(tmp_path / "x"), table=PRODUCT)
    with open(f"{store}/config", "a", encoding="utf-8") as config:
        config.write(f"[scopes]\n\tprices = {tmp_path}/x\n")
    usage(store)


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("--by", "hour"), 2, "'hour' is not a valid value of --by"),
        (("--by", "day,week"), 2, "--by names a period or a word twice"),
        (("-c", "scopes.prices=/missing"), 9, "cannot read the prices in /missing"),
        (("missing",), 4, "missing"),
        (("--statusline", "--since", "today"), 2, "--statusline cannot be combined with other options"),
        (("--since", "2026-02-01", "--until", "2026-01-01"), 2, "is after --until"),
    ],
)
def test_what_cannot_be_done_is_refused(store, words, code, error):
    assert error in usage(store, *words, code=code).stderr


def test_a_status_line_is_one_line_also_without_a_store(store):
    for done in (
        usage(store, "--statusline"),
        scopes("usage", "--statusline", table=PRODUCT, env={"SCOPES_STORE": ""}),
    ):
        assert done.stdout.startswith("today ")
        assert done.stdout.count("\n") == 1
