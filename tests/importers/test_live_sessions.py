"""The transcript of a session that `scopes acp` recorded goes into the conversation of that record, as a branch."""

from __future__ import annotations

import pytest

from scopes.clock import new_id, now
from scopes.conversation.delete import delete
from scopes.conversation.verify import verify
from scopes.history.revisions import conversation_ids, list_branch_tips
from scopes.model.message import Author, Message, text_parts
from scopes.server.recordings import SessionWriter, identity_of
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

SESSION = "ses_0123456789abcdef"


def record_live(repository, session=SESSION, words="a b"):
    """Record a session as the proxy does."""
    writer = SessionWriter(repository, identity_of("demo", "/shop"), session, "run-1", None)
    for word in words.split():
        author = Author("carol", "human")
        writer.append(
            Message(id=new_id(), author=author, parts=text_parts(word), time=now(), extra={"acp": {"run": "1"}})
        )
    return writer.place.conversation


def transcript(tmp_path, words="a b", session=SESSION):
    return write_transcript(tmp_path / "s.jsonl", *session_records(session, words))


def transcript_branch(repository, conversation="conv-001"):
    [name] = [name for name in list_branch_tips(repository, conversation) if name != "main"]
    return name


def test_a_recorded_session_is_one_conversation_after_its_transcript_is_imported(repository, tmp_path):
    assert record_live(repository) == "conv-001"
    done = import_demo(repository, transcript(tmp_path))
    assert [each.id for each in done.conversations] == ["conv-001"]
    assert conversation_ids(repository) == ["conv-001"]
    assert branch_words(repository) == "a b"
    assert branch_words(repository, transcript_branch(repository)) == "a b"
    assert verify(repository).exit_code == 0


def test_a_session_that_was_recorded_after_others_were_looked_for_is_found(repository, tmp_path):
    index = str(tmp_path / "index")
    other = write_transcript(tmp_path / "o.jsonl", *session_records("ses_ffffffffffffffff", "x"))
    import_demo(repository, other, index_directory=index)
    record_live(repository)
    done = import_demo(repository, transcript(tmp_path), index_directory=index)
    assert [each.id for each in done.conversations] == ["conv-002"]


def test_the_active_branch_stays_that_of_the_record(repository, tmp_path):
    record_live(repository)
    before = repository.find_ref("refs/scopes/active/conv-001")
    import_demo(repository, transcript(tmp_path))
    assert repository.find_ref("refs/scopes/active/conv-001") == before


def test_a_second_import_writes_nothing(repository, tmp_path):
    record_live(repository)
    source = transcript(tmp_path)
    import_demo(repository, source)
    before = repository.list_refs("refs/")
    assert import_demo(repository, source).conversations[0].new_messages == 0
    assert repository.list_refs("refs/") == before


def test_a_transcript_that_has_grown_continues_its_branch(repository, tmp_path):
    record_live(repository)
    import_demo(repository, transcript(tmp_path))
    name = transcript_branch(repository)
    import_demo(repository, transcript(tmp_path, "a b c"))
    assert transcript_branch(repository) == name
    assert branch_words(repository, name) == "a b c"


def test_a_transcript_that_was_imported_first_keeps_its_conversation(repository, tmp_path):
    import_demo(repository, transcript(tmp_path))
    assert record_live(repository) == "conv-002"
    import_demo(repository, transcript(tmp_path, "a b c"))
    assert branch_words(repository, conversation="conv-001") == "a b c"
    assert list(list_branch_tips(repository, "conv-002")) == ["main"]


def test_a_deleted_record_stays_deleted_until_it_is_wanted_again(repository, tmp_path):
    record_live(repository)
    import_demo(repository, transcript(tmp_path))
    delete(repository, "conv-001")
    done = import_demo(repository, transcript(tmp_path, "a b c"))
    assert conversation_ids(repository) == []
    assert any("deleted here" in note.text for note in done.notes)
    import_demo(repository, transcript(tmp_path, "a b c"), again=True)
    [conversation] = conversation_ids(repository)
    assert branch_words(repository, transcript_branch(repository, conversation), conversation) == "a b c"


@pytest.mark.parametrize(("live", "imported"), [("ses_0123456789abcdef", "ses_fedcba9876543210"), ("1", "1")])
def test_another_session_or_a_short_id_is_not_joined(repository, tmp_path, live, imported):
    """Ids like 1 are not unique."""
    record_live(repository, live)
    import_demo(repository, transcript(tmp_path, session=imported))
    assert conversation_ids(repository) == ["conv-001", "conv-002"]
