"""No session of a purged conversation brings it back: copies of it, what `checkout` wrote, what was recorded live."""

from __future__ import annotations

import os

import pytest

from scopes.errors import CannotImport
from scopes.history.answer_proofs import MIN_TEXT
from scopes.history.purged import read_purged
from scopes.history.revisions import conversation_ids
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.handover.test_checkout import Shop
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.importers.test_live_records import SESSION, Live, spread_ids
from tests.support.every_byte import find_word

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


@pytest.mark.parametrize("join", [True, False])
def test_a_copy_that_nobody_had_imported(repository, places, tmp_path, join):
    import_demo(repository, session(tmp_path, "s1", "a b secret c"))
    purge_first(repository, places)
    assert_stays_away(repository, session(tmp_path, "s2", "a b secret x"), join=join)


def test_a_copy_without_times_whose_answers_are_long(repository, places, tmp_path):
    import_demo(repository, session(tmp_path, "s1", "a b secret c", at=None, say=LONG))
    purge_first(repository, places)
    assert_stays_away(repository, session(tmp_path, "s2", "a b secret x", at=None, say=LONG))


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
    assert len(read_purged(repository).conversations) == 4  # the root, two sources, and their first answer
    assert find_word("s1-secret", repository.path) == []
