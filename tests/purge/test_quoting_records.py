"""Records of a transcript that are no message go with what they quote."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.verify import verify
from scopes.facts.list import list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.history.sources import SOURCES, walk_chunks
from scopes.ids import Oid
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.importers.demo_format import session_records
from tests.importers.stores import import_demo
from tests.purge.test_texts_of_kept_records import write as write_session
from tests.support.every_byte import find_word
from tests.support.history import history, say

WORD = "Qz-4711"
LONG = f"A very long first line that goes on and on with {WORD} in it, and then has more words until the agent cuts it"
SPOKEN = {
    "tab": f"first\t{WORD} column of the table", "umlaut": f"die Tür: {WORD} für den Norden",
    "slash": f"see a/b/{WORD} now", "long": LONG,
}  # fmt: skip
COPIES = {
    "whole": lambda text: text, "in a text": lambda text: f"prompt: {text} (queued)",
}  # fmt: skip
KEPT = {"event": "other", "gitBranch": "main"}


def write(path, spoken, copies, **how):
    """Write a session with a message, and records that are no message."""
    records = session_records("s1", "a secret b")
    for record in records:
        if record.get("id") == "secret":
            record["say"] = spoken
    lines = [json.dumps(each) for each in records] + [json.dumps(each, **how) for each in (*copies, KEPT)]
    path.write_text("\n".join(lines) + "\n")
    return Source(str(path), path.stat().st_size)


def stored(repository):
    (source,) = repository.list_refs(SOURCES).values()
    return b"".join(walk_chunks(repository, Oid(source)))


@pytest.mark.every_case("each is another way in which agents copy texts")
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "as it is"])
@pytest.mark.parametrize("spoken", SPOKEN)
def test_a_record_that_quotes_a_purged_message_is_blanked(repository, places, tmp_path, spoken, ascii_only):
    texts = [copy(SPOKEN[spoken]) for copy in COPIES.values()]
    copies = [{"event": "prompt", "last": text} for text in texts]
    copies += [{"event": "queue", "items": [{"content": text}]} for text in texts]
    import_demo(repository, write(tmp_path / "s1.jsonl", SPOKEN[spoken], copies, ensure_ascii=ascii_only))
    done = purge(repository, PurgeRequest(query=f'"{WORD}"'), places)
    assert (done.messages, done.left, find_word(WORD, repository.path)) == (1, (), [])
    left = stored(repository)
    assert [each for each in copies if json.dumps(each, ensure_ascii=ascii_only).encode() in left] == []
    assert json.dumps(KEPT).encode() in left
    assert verify(repository).exit_code == 0


def test_the_copies_stay_away_when_the_transcript_grows(repository, places, tmp_path):
    copies = [{"event": "prompt", "last": SPOKEN["tab"]}]
    import_demo(repository, write(tmp_path / "s1.jsonl", SPOKEN["tab"], copies[:1]))
    purge(repository, PurgeRequest(query=f'"{WORD}"'), places)
    import_demo(repository, write(tmp_path / "s1.jsonl", SPOKEN["tab"], [*copies[:1], {"event": "y"}, *copies[:1]]))
    assert find_word(WORD, repository.path) == []
    assert b'{"event": "y"}' in stored(repository)


def test_a_word_of_the_format_is_no_copy_of_a_message(repository, places, tmp_path):
    copies = [{"type": "continue", "gitBranch": "continue"}, {"cwd": "/home/ann/projects/shop"}]
    path = write(tmp_path / "s1.jsonl", "continue", copies)
    import_demo(repository, path)
    purge(repository, PurgeRequest(query="continue"), places)
    assert all(json.dumps(each).encode() in stored(repository) for each in copies)


BRANCH, SESSION, DIRECTORY = (
    "feature/checkout-redesign",
    "11111111-2222-4333-8444-555555555555",
    "/home/ann/shop/service",
)
OF_SESSION = {"gitBranch": BRANCH, "sessionId": SESSION, "cwd": DIRECTORY}


@pytest.mark.parametrize("spoken", [*OF_SESSION.values(), "\n".join(OF_SESSION.values())])
@pytest.mark.parametrize("how", [{}, {"separators": (",", ":")}], ids=["spaced", "compact"])
def test_what_is_true_of_the_session_is_no_copy_of_what_a_tool_has_printed(repository, places, tmp_path, spoken, how):
    records = [
        {"event": "hook", **OF_SESSION},
        {"event": "progress", "nested": [{"parentUuid": SESSION}], **OF_SESSION},
    ]
    import_demo(repository, write(tmp_path / "s1.jsonl", spoken, records, **how))
    done = purge(repository, PurgeRequest(query=f'"{spoken.splitlines()[0]}"'), places)
    assert (done.messages, done.left, done.exit_code) == (1, (), 0)
    assert all(json.dumps(each, **how).encode() in stored(repository) for each in records)
    assert not any("transcript" in note.text for note in done.notes)


def test_another_copy_and_one_in_a_field_with_words_go_and_are_counted(repository, places, tmp_path):
    line = f"on {BRANCH} now"
    records = [{"event": "x", "text": BRANCH, **OF_SESSION}, {BRANCH: 1}, {"kind": line}, {"event": "y", **OF_SESSION}]
    import_demo(repository, write(tmp_path / "s1.jsonl", f"{BRANCH}\n{line}", records))
    request = PurgeRequest(query=f'"{line}"')
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    for notes in (plan.notes, done.notes):
        assert "3 other records of the transcript s1.jsonl have its text, and go" in [note.text for note in notes]
    assert (done.left, [json.dumps(each).encode() in stored(repository) for each in records]) == (
        (),
        [False] * 3 + [True],
    )


def test_another_message_on_the_same_git_branch_has_not_the_same_text(repository, places, tmp_path):
    path = write_session(tmp_path / "a.jsonl", gitBranch=BRANCH)
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)
    message = say(repository, "conv-001", BRANCH)
    done = purge(repository, PurgeRequest(conversation="conv-001", messages=(message.id,)), places)
    assert (done.copies, done.left, done.exit_code) == ((), (), 0)


def test_memory_and_facts_lose_a_line_with_a_tab(repository, places):
    made = history(repository, "main: a")
    texts = (f"the\t{WORD} code of the north door",)
    ids = [say(repository, made.conversation, text).id for text in texts]
    for text in (*texts, f"see {texts[0]} ok", "We keep a list of words."):
        add_entry(repository, text, agent="carol")
    propose(repository, made.conversation, Proposal(key="Constraints", content=texts[0], agent="carol"))
    done = purge(repository, PurgeRequest(conversation=made.conversation, messages=tuple(ids)), places)
    assert (done.left, find_word(WORD, repository.path)) == ((), [])
    assert [entry.summary for entry in Memory(repository).entries] == ["We keep a list of words."]
    assert list_proposed(repository, made.conversation).proposals == ()
