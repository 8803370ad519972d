"""`purge` of messages: nothing of them is left in any byte, and everything else stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scopes.cli.commands.purge import question_of
from scopes.conversation.append import amend
from scopes.conversation.branch import rewind, tag
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import delete_branch, rename_title
from scopes.conversation.rebase import cherry_pick
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid, Refused
from scopes.history.messages import read_message
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.memory.update import update as update_memory
from scopes.model.message import Author
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.search.run import search
from scopes.store.operations import walk_operations
from tests.support.decisions import decide, decided
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.store import open_store

WORD = "Xylophone-Quarantine-4711"
_GOES = "quotes it, and goes"


def everywhere(repository, places):
    return find_word(WORD, repository.path, *filter(os.path.isdir, places.derived))


def test_the_word_of_a_purged_message_is_in_no_byte_of_the_store(repository, places):
    drawn = history(repository, "main: a b", f"fix@b: {WORD} d", "more@b: e")
    say(repository, drawn.conversation, "later")
    search(repository, WORD, index_directory=places.index_directory)
    assert everywhere(repository, places)
    done = purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)
    assert everywhere(repository, places) == []
    assert (done.messages, done.left, done.exit_code) == (1, (), 0)
    assert texts(repository, f"{drawn.conversation}/fix") == ["a", "b", "[purged]", "d"]
    assert texts(repository, drawn.conversation) == ["a", "b", "later"]
    assert verify(repository).exit_code == 0


def purge_messages(repository, places, conversation, *ids):
    return purge(repository, PurgeRequest(conversation=conversation, messages=ids), places)


def test_a_dry_run_says_what_would_go_and_changes_nothing(repository, places):
    drawn = history(repository, f"main: a {WORD} b")
    before = repository.list_refs()
    plan = plan_purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)
    assert [(each.message, each.subject, each.parts) for each in plan.messages] == [(drawn.ids[WORD], WORD, None)]
    assert plan.commits == 2
    assert repository.list_refs() == before
    assert texts(repository, drawn.conversation) == ["a", WORD, "b"]


def test_a_plan_names_every_conversation_that_has_the_message(repository, places):
    drawn = history(repository, f"main: a {WORD} b")
    made = history(repository, "main: x")
    cherry_pick(repository, made.conversation, [drawn.ids[WORD]])
    plan = plan_purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)
    assert [each.conversation for each in plan.messages] == [drawn.conversation, made.conversation]
    assert question_of(plan).startswith(
        f"remove 1 message ({drawn.ids[WORD][:8]} of 2 conversations: {WORD}) for good?"
    )


def test_the_id_author_time_and_place_of_a_purged_message_stay(repository, places):
    drawn = history(repository, f"main: a {WORD} b")
    before = read_message(repository, drawn.oids[WORD])
    purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    entry = list(log(repository, drawn.conversation, oldest_first=True).items)[1]
    assert (entry.message.id, entry.message.author, entry.message.time) == (before.id, before.author, before.time)
    assert entry.head.subject == "[purged]"


def test_a_claim_of_a_purged_decision_is_gone_and_the_one_before_is_back(repository, places):
    drawn = history(repository, "main: a")
    decide(repository, drawn.conversation, "SQLite")
    made = decide(repository, drawn.conversation, WORD)
    say(repository, drawn.conversation, "b")
    purge_messages(repository, places, drawn.conversation, made.id)
    found = decided(repository, drawn.conversation)
    assert found == ["SQLite"]
    assert everywhere(repository, places) == []


def test_a_decision_that_is_stated_again_by_another_message_stays(repository, places):
    drawn = history(repository, "main: a")
    made = decide(repository, drawn.conversation, "SQLite is the store of all sessions")
    decide(repository, drawn.conversation, "SQLite is the store of all sessions")
    done = purge_messages(repository, places, drawn.conversation, made.id)
    found = decided(repository, drawn.conversation)
    assert found == ["SQLite is the store of all sessions"]
    assert len(done.copies) == 1


def test_an_amendment_goes_with_its_message(repository, places):
    drawn = history(repository, "main: a b c")
    amend(repository, drawn.conversation, drawn.ids["b"], f"the key is {WORD}", author=Author("carol"))
    purge_messages(repository, places, drawn.conversation, drawn.ids["b"])
    assert everywhere(repository, places) == []


def test_what_was_deleted_rewound_and_undone_has_no_copy_either(repository, places):
    drawn = history(repository, "main: a b", f"fix@a: {WORD} d", "more@a: e")
    delete_branch(repository, drawn.conversation, "fix", force=True)
    spoken = say(repository, drawn.conversation, f"{WORD} again and again")
    rewind(repository, drawn.conversation)
    undone = say(repository, drawn.conversation, f"{WORD} for the third time")
    undo(repository)
    done = purge_messages(repository, places, drawn.conversation, drawn.ids[WORD], spoken.id, undone.id[:8])
    assert done.messages == 3
    assert everywhere(repository, places) == []


def test_undo_still_reaches_what_came_before_a_purge_without_the_content(repository, places):
    drawn = history(repository, f"main: a {WORD}", "fix@a: c d")
    delete_branch(repository, drawn.conversation, "fix", force=True)
    deleted = next(record for _, record in walk_operations(repository))
    purge_messages(repository, places, drawn.conversation, drawn.ids["c"])
    with pytest.raises(Refused, match="purge cannot be undone"):
        undo(repository)
    undo(repository, deleted.id)
    assert texts(repository, f"{drawn.conversation}/fix") == ["a", "[purged]", "d"]


def test_a_title_and_a_command_line_that_quote_the_message_lose_it(repository, places):
    drawn = history(repository, f"main: a {WORD}")
    repository = open_store(repository, command=f"scopes rename {drawn.conversation} --title '{WORD}'")
    rename_title(repository, drawn.conversation, WORD)
    purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    assert everywhere(repository, places) == []
    assert read_metadata(repository, drawn.conversation).title is None


@pytest.mark.every_case("each is another way to quote")
@pytest.mark.parametrize(
    ("message", "title", "what"),
    [
        ("report of the incident", "report", None),
        ("report of the incident", "About the report of the incident", _GOES),
    ],
)
def test_the_title_of_another_conversation_goes_only_if_it_is_no_chance(repository, places, message, title, what):
    drawn = history(repository, "main: a b")
    say(repository, drawn.conversation, message)
    other = history(repository, "main: x").conversation
    rename_title(repository, other, title)
    request = PurgeRequest(query=f'"{message}"')
    planned = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    assert read_metadata(repository, other).title == (None if what == _GOES else title)
    expected = [] if what is None else [f"the title of {other} {what}"]
    for notes in (planned.notes, done.notes):
        assert [note.text for note in notes if "title" in note.text] == expected


def test_a_memory_entry_about_a_purged_message_goes_and_others_stay(repository, places):
    drawn = history(repository, "main: a b")
    add_entry(repository, "We keep a list of words.", agent="carol")
    say(repository, drawn.conversation, f"We decided that the {WORD} is the word. Please remember {WORD}.")
    update_memory(repository, f"{drawn.conversation}/main", at_once=True, built_in=True)
    assert any(WORD in entry.summary for entry in Memory(repository).entries)
    purge(repository, PurgeRequest(query=WORD), places)
    assert [entry.summary for entry in Memory(repository).entries] == ["We keep a list of words."]
    assert everywhere(repository, places) == []


def test_tags_and_fork_points_name_the_rewritten_commits(repository, places):
    drawn = history(repository, f"main: a {WORD} b", "fix@b: c")
    tag(repository, drawn.conversation, "v1")
    purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    metadata = read_metadata(repository, drawn.conversation)
    main = list_branch_tips(repository, drawn.conversation)["main"]
    assert metadata.tags == {"v1": main}
    assert metadata.branches["fix"].fork == main


def test_a_purge_of_nothing_new_is_harmless(repository, places):
    drawn = history(repository, f"main: a {WORD} b")
    purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    before = list_branch_tips(repository, drawn.conversation)
    done = purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    assert (done.messages, done.operation, done.left) == (0, None, ())
    assert list_branch_tips(repository, drawn.conversation) == before


def test_another_message_with_the_same_text_is_named_and_stays(repository, places):
    drawn = history(repository, f"main: a {WORD}")
    copy = say(repository, drawn.conversation, f"you said {WORD}")
    done = purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    assert [each.message for each in done.copies] == [copy.id]
    assert done.exit_code == 0
    assert "the same text" in done.notes[0].text


def test_the_root_is_no_message_that_could_be_purged(repository, places):
    drawn = history(repository, "main: a")
    with pytest.raises(Invalid, match="no message"):
        purge_messages(repository, places, drawn.conversation, drawn.root)


def test_a_store_that_borrows_objects_is_refused(repository, places):
    drawn = history(repository, "main: a")
    (Path(repository.path) / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    with pytest.raises(Refused, match="borrows objects"):
        purge_messages(repository, places, drawn.conversation, drawn.ids["a"])


def test_files_of_repairs_bundles_and_logs_lose_the_word(repository, places, tmp_path):
    drawn = history(repository, f"main: a {WORD}")
    store = Path(repository.path)
    (store / "scopes-quarantine" / "old").mkdir(parents=True)
    (store / "scopes-quarantine" / "old" / "x").write_text(WORD)
    (store / "mine.bundle").write_text(f"# v2 git bundle\n{WORD}")
    state = tmp_path / "state"
    state.mkdir()
    (state / "hooks.log").write_text(f'{{"error": "{WORD}"}}')
    (state / "spool.jsonl").write_text(WORD)
    done = purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    assert find_word(WORD, store, state) == ["spool.jsonl"]
    assert done.files_kept == (str(state / "spool.jsonl"),)


def test_a_cache_that_is_filled_meanwhile_with_a_copy_is_not_taken_for_a_rest(repository, places):
    repository.caller = repository.caller._replace(index_directory=places.index_directory)
    drawn = history(repository, f"main: a {WORD}")
    for number in range(3):
        say(repository, drawn.conversation, f"you said {WORD} {number}")
    done = purge_messages(repository, places, drawn.conversation, drawn.ids[WORD])
    assert (done.left, len(done.copies)) == ((), 3)
