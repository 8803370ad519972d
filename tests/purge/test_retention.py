"""`retention`: rules by age and project say what is due; only `retention run` removes it."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid, NotFound
from scopes.history.names import conversation_ids
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.retention import note_due, read_retention, run_retention
from scopes.store.config import Setting, check_key, check_value
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.store import FAST, open_store, overtake

OLD = "2020-01-01T00:00:00Z"
SESSION = "11111111-2222-4333-8444-555555555555"
WORD = "Xylophone-Quarantine-4711"


def with_rules(repository, **ages):
    """Open the store with rules; the name of a project is that of the argument."""
    keys = {f"scopes.retention.{name}.age": age for name, age in ages.items()}
    return open_store(repository, {**FAST, **{key: Setting(key, age, "flag") for key, age in keys.items()}})


def old_conversation(repository, directory, text=WORD):
    made = new(repository, directory=str(directory))
    say(repository, made.id, text, author={"name": "carol", "kind": "human"}, time=OLD)
    return made.id


def due(repository):
    return [row.conversation for row in read_retention(repository).due]


def test_without_a_rule_nothing_is_ever_due(repository, tmp_path):
    old_conversation(repository, tmp_path)
    found = read_retention(repository)
    assert (found.rules, found.due) == ((), ())
    assert "nothing ever expires" in found.notes[0].text


def test_a_conversation_is_due_by_the_age_of_its_last_message(repository, tmp_path):
    first = old_conversation(repository, tmp_path)
    second = old_conversation(repository, tmp_path)
    say(repository, second, "today")
    ruled = with_rules(repository, all="2 years")
    assert due(ruled) == [first]
    (rule,) = read_retention(ruled).rules
    assert (rule.project, rule.age, rule.conversations, rule.due) == ("all", "2 years", 2, 1)


def test_the_rule_of_a_project_counts_instead_of_that_for_all(repository, tmp_path):
    for name in ("shop", "other"):
        (tmp_path / name).mkdir()
    shop, other = old_conversation(repository, tmp_path / "shop"), old_conversation(repository, tmp_path / "other")
    assert due(with_rules(repository, all="2 years", shop="100 years")) == [other]
    assert due(with_rules(repository, shop="2 years")) == [shop]
    assert [row.project for row in read_retention(with_rules(repository, all="2 years")).due] == ["shop", "other"]


def test_a_run_purges_what_is_due_and_nothing_else(repository, places, tmp_path):
    old_conversation(repository, tmp_path)
    kept = history(repository, "main: a").conversation
    ruled = with_rules(repository, all="2 years")
    done = run_retention(ruled, places)
    assert (done.conversations, done.left) == (1, ())
    assert conversation_ids(repository) == [kept]
    assert find_word(WORD, repository.path) == []
    with pytest.raises(NotFound, match="no conversation is older"):
        run_retention(ruled, places)


def test_a_conversation_that_goes_on_while_a_run_waits_for_the_lock_stays(repository, places, tmp_path):
    first = old_conversation(repository, tmp_path)
    old_conversation(repository, tmp_path, "other")
    ruled = with_rules(repository, all="2 years")
    overtake(ruled, lambda store: say(store, first, "today"))
    assert run_retention(ruled, places).conversations == 1
    assert conversation_ids(repository) == [first]


def test_a_conversation_without_times_never_expires(repository, places, tmp_path):
    """Lists of messages of some programs have no times."""
    name = new(repository, directory=str(tmp_path)).id
    say(repository, name, "hello", time="1970-01-01T00:00:00Z")
    ruled = with_rules(repository, all="30 years")
    found = read_retention(ruled)
    assert found.due == ()
    assert [note.text for note in found.notes] == ["1 conversation ends without a time and never expires"]


def import_session(repository, path, *times):
    """Import a session of Claude Code with a message at each time; None writes a record without one."""
    records = [
        {"type": "user", "uuid": f"{number:08d}-0000-4000-8000-000000000000", "sessionId": SESSION, "cwd": "/work/app",
         "parentUuid": f"{number - 1:08d}-0000-4000-8000-000000000000" if number else None, "version": "1.0.60",
         "isSidechain": False, "message": {"role": "user", "content": f"message {number}"},
         **({"timestamp": time} if time else {})}
        for number, time in enumerate(times)
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)


def test_a_session_that_goes_on_without_times_never_expires(repository, places, tmp_path):
    """Such a message has the time of the one before it in its commit."""
    path = tmp_path / f"{SESSION}.jsonl"
    import_session(repository, path, OLD)
    ruled = with_rules(repository, all="2 years")
    assert due(ruled) == ["conv-001"]
    import_session(ruled, path, OLD, None)
    found = read_retention(ruled)
    assert (found.due, [note.text for note in found.notes]) == (
        (),
        ["1 conversation ends without a time and never expires"],
    )
    with pytest.raises(NotFound, match="no conversation is older"):
        run_retention(ruled, places)
    import_session(ruled, path, OLD, None, "2020-02-01T00:00:00Z")
    assert due(ruled) == ["conv-001"]


def test_a_merge_counts_when_it_was_made(repository, places, tmp_path):
    name = old_conversation(repository, tmp_path)
    branch(repository, name, name="side")
    carol = {"name": "carol", "kind": "human"}
    for each in ("main", "side"):
        say(repository, f"{name}/{each}", each, author=carol, time=OLD)
    ruled = with_rules(repository, all="2 years")
    assert due(ruled) == [name]
    merge(ruled, name, "side", target="main")
    assert due(ruled) == []
    with pytest.raises(NotFound, match="no conversation is older"):
        run_retention(ruled, places)


def test_a_new_message_below_an_old_one_counts(repository, tmp_path):
    """A rebase or a cherry-pick keeps the times of the messages that it copies."""
    name = old_conversation(repository, tmp_path)
    say(repository, name, "today")
    say(repository, name, "copied", author={"name": "carol", "kind": "human"}, time=OLD)
    assert due(with_rules(repository, all="2 years")) == []


def test_a_run_that_finds_nothing_due_under_the_lock_purges_nothing(repository, places, tmp_path):
    only = old_conversation(repository, tmp_path)
    ruled = with_rules(repository, all="2 years")
    overtake(ruled, lambda store: say(store, only, "today"))
    with pytest.raises(NotFound, match="no conversation is older"):
        run_retention(ruled, places)
    assert conversation_ids(repository) == [only]


@pytest.mark.parametrize("age", ["tomorrow", "2020-01-01", "0 days", "-3 days", "2 minutes"])
def test_an_age_is_a_number_of_days_weeks_months_or_years(age):
    with pytest.raises(Invalid, match="not a valid value"):
        check_value("scopes.retention.all.age", age)


def test_an_age_that_cannot_be_read_stops_the_run_and_names_the_cure(repository, places, tmp_path):
    old_conversation(repository, tmp_path)
    with pytest.raises(Invalid):
        run_retention(with_rules(repository, all="some time"), places)
    assert conversation_ids(repository) == ["conv-001"]


def test_the_settings_are_known():
    check_key("scopes.retention.webshop.age", known=True)
    assert check_value("scopes.retention.webshop.age", "90 days") == "90 days"
    with pytest.raises(Invalid, match="unknown setting"):
        check_key("scopes.retention.webshop.size", known=True)


def test_what_is_due_has_the_command_only_where_nothing_is_removed(repository, tmp_path):
    old_conversation(repository, tmp_path)
    found = read_retention(with_rules(repository, all="2 years"))
    assert note_due(found).notes[-1].hint == "remove them for good: scopes retention run"
    assert found.notes == ()
    assert note_due(read_retention(repository)) == read_retention(repository)
