"""No session of a purged conversation brings it back: copies of it, what `checkout` wrote, what was recorded live."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scopes.conversation.verify import verify
from scopes.errors import CannotImport
from scopes.exporters.export import list_sources
from scopes.history.names import conversation_ids, resolve_revision
from scopes.history.sources import SOURCES, purged_of, read_purged, source_key, walk_chunks, write_purged
from scopes.history.transaction import RefTransaction
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.identity import MIN_TEXT
from scopes.importers.import_sources import import_sources
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import PURGED
from scopes.store.transactions import exclusive_write
from tests.handover.test_checkout import Shop
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.importers.streams import import_paths
from tests.importers.test_live_records import SESSION, Live, spread_ids
from tests.support.every_byte import find_word
from tests.support.history import texts

__all__ = ["spread_ids"]

WORD = "secret"  # a message of the sessions says it
GONE = "a conversation that was purged|its conversation was purged"
LONG = "Because the cache is keyed by name, " * (MIN_TEXT // 30)


def session(tmp_path, name, words, *, at="2026-02-01T10:00:{:02}.137Z", say=None):
    """Write a session, whose messages have the exact times that copies of them have too; `say` is its first answer."""
    records = session_records(name, words)
    for number, record in enumerate(records[1:]):
        record.update({"time": at.format(number)} if at else {})
    records[2].update({"say": say} if say else {})
    return write_transcript(tmp_path / f"{name}.jsonl", *records)


def purge_first(repository, places):
    return purge(repository, PurgeRequest(("conv-001",)), places)


def assert_stays_away(repository, *sources, **options):
    for source in sources:
        with pytest.raises(CannotImport, match=GONE):
            import_demo(repository, source, **options)
    assert conversation_ids(repository) == []
    assert find_word(WORD, repository.path) == []


@pytest.mark.parametrize("join", [True, False])
def test_a_copy_that_had_joined_it(repository, places, tmp_path, join):
    sources = session(tmp_path, "s1", "a b secret"), session(tmp_path, "s2", "a b x secret")
    import_demo(repository, *sources)
    purge_first(repository, places)
    assert_stays_away(repository, *reversed(sources), join=join)


def test_a_session_that_only_begins_with_the_same_words_is_imported(repository, places, tmp_path):
    import_demo(repository, session(tmp_path, "s1", "a b secret"))
    purge_first(repository, places)
    import_demo(repository, session(tmp_path, "s2", "a b x", at="2026-03-01T10:00:{:02}.137Z"))
    assert branch_words(repository) == "a b x"


def test_a_copy_of_a_conversation_that_is_kept_joins_that(repository, places, tmp_path):
    """Who purges one of two conversations with the same beginning keeps the other one, and what goes on from it."""
    import_demo(repository, session(tmp_path, "s1", "a b secret"))
    import_demo(repository, session(tmp_path, "s2", "a b x"), join=False)
    purge_first(repository, places)
    import_demo(repository, session(tmp_path, "s3", "a b y"))
    assert branch_words(repository, "fork/s3", "conv-002") == "a b y"


def test_a_session_of_a_conversation_that_is_kept_goes_on_whatever_a_list_says(repository, places, tmp_path):
    """Two files of one session are kept apart; who purges one of the conversations has the keys of both on the list."""
    import_demo(repository, session(tmp_path, "s1", "a b secret"))
    import_demo(repository, session(tmp_path, "s2", "a b x"), join=False)
    purge_first(repository, places)
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        listed = read_purged(repository).join(purged_of({}, [source_key("demo", "s2", None)]))
        tx.move_ref(PURGED, repository.find_ref(PURGED), write_purged(repository, listed))
        tx.commit("test", "list the session of the conversation that is kept")
    import_demo(repository, session(tmp_path, "s2", "a b x y"), join=False)
    assert branch_words(repository, conversation="conv-002") == "a b x y"


def test_a_session_whose_conversation_came_by_another_way_is_imported(repository, places, tmp_path):
    """Nobody has imported its file here: the conversation was fetched, or its source is gone."""
    import_demo(repository, session(tmp_path, "s1", "a b secret"))
    import_demo(repository, session(tmp_path, "s2", "a b x"), join=False)
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        ref = SOURCES + source_key("demo", "s2", None)
        tx.move_ref(ref, repository.find_ref(ref), None)
        tx.commit("test", "forget the source")
    purge_first(repository, places)
    import_demo(repository, session(tmp_path, "s2", "a b x y"), join=False)
    assert conversation_ids(repository) == ["conv-002"]
    assert branch_words(repository, conversation="conv-002") == "a b x y"


def write_chats(tmp_path, *more):
    """Write an export of ChatGPT with three chats; the one in the middle has the secret. The last one goes on."""
    chats = [["a", "b"], ["c", WORD, "d"], ["e", "f", *more]]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat_of(number, words) for number, words in enumerate(chats)]))
    return str(path)


def chat_of(number, words):
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for place, word in enumerate(words):
        name = f"{number}0000000-0000-4000-8000-{place:012d}"
        author = {"role": ("user", "assistant")[place % 2]}
        message = {"id": name, "author": author, "content": {"content_type": "text", "parts": [word]}}
        mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(name)
        parent = name
    chat_id = f"{number}aaaaaaa-1111-4222-8333-444444444444"
    return {"title": f"chat {number}", "mapping": mapping, "current_node": parent, "conversation_id": chat_id}


@pytest.mark.every_case("a file is named after its first session")
@pytest.mark.parametrize("number", [1, 2])
def test_the_other_sessions_of_a_file_are_imported(repository, places, tmp_path, number):
    path = write_chats(tmp_path)
    import_paths(repository, path)
    kept = [name for name in ("conv-001", "conv-002", "conv-003") if name != f"conv-00{number}"]
    done = purge(repository, PurgeRequest((f"conv-00{number}",)), places)
    words = f"the stored file of {kept[0]}, {kept[1]} goes, too: it has all of them"
    assert [note.text for note in done.notes if "stored file" in note.text] == [words]
    write_chats(tmp_path, "g")
    done = import_paths(repository, path)
    assert ["its conversation was purged" in note.text for note in done.notes] == [True]
    assert (texts(repository, "conv-003"), conversation_ids(repository)) == (["e", "f", "g"], kept)
    assert bool(find_word(WORD, repository.path)) == (number == 1)
    (stored,) = list_sources(repository, resolve_revision(repository, kept[0]))
    expected = Path(path).read_bytes()
    kept_bytes = b"".join(walk_chunks(repository, stored.commit))
    assert (len(kept_bytes), kept_bytes[-40:]) == (len(expected), expected[-40:])
    assert (WORD.encode() in kept_bytes) == (number == 1)
    assert import_paths(repository, path).operation is None
    assert verify(repository).exit_code == 0


def test_what_checkout_wrote(repository, places, tmp_path):
    shop = Shop(tmp_path, repository)
    written = [shop.checkout(agent).file for agent in ("codex", "claude-code", "pi")]
    purge_first(repository, places)
    for path in [*written, shop.file]:
        with pytest.raises(CannotImport, match=GONE):
            import_sources(repository, find_sources(path), FORMATS)
    assert conversation_ids(repository) == []


def test_what_was_recorded_live(repository, places, tmp_path):
    live = Live(repository, tmp_path)
    live.turn(f"hide the {WORD}", "done")
    purge_first(repository, places)
    with pytest.raises(CannotImport, match=GONE):
        live.save()
    assert os.path.exists(tmp_path / f"{SESSION}.jsonl")
    assert (conversation_ids(repository), find_word(WORD, repository.path)) == ([], [])


def test_the_list_names_no_session(repository, places, tmp_path):
    import_demo(repository, session(tmp_path, "s1-secret", "a b c"), session(tmp_path, "s2-secret", "a b x"))
    purge_first(repository, places)
    assert len(read_purged(repository).conversations) == 3  # the root and two sources
    assert find_word("s1-secret", repository.path) == []


def test_a_chat_that_somebody_else_has_listed_is_imported(repository, tmp_path):
    """Its conversation is here, and nobody has imported its file: it was fetched."""
    path = write_chats(tmp_path)
    import_paths(repository, path)
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        for ref, oid in repository.list_refs(SOURCES).items():
            tx.move_ref(ref, oid, None)
        tx.commit("test", "forget the sources")
    name = json.loads((tmp_path / "conversations.json").read_text())[2]["conversation_id"]
    put_on_list(repository, source_key("chatgpt", name, None))
    write_chats(tmp_path, "g")
    import_paths(repository, path)
    assert texts(repository, "conv-003") == ["e", "f", "g"]
    assert conversation_ids(repository) == ["conv-001", "conv-002", "conv-003"]


def put_on_list(repository, name):
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        listed = read_purged(repository).join(purged_of({}, [name]))
        tx.move_ref(PURGED, repository.find_ref(PURGED), write_purged(repository, listed))
        tx.commit("test", "list a session")
