"""The transcript of a session that `scopes acp` recorded goes into the conversation of that record, as a branch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.clock import new_id, now
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.verify import verify
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.model.message import Author, Message, text_parts
from scopes.server.acp.recordings import RecordedBranch, SessionWriter, identity_of
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

SESSION = "ses_0123456789abcdef"


DIRECTORY = "/home/carol/shop"  # of the demo transcripts


def record_live(repository, session=SESSION, words="a b", agent="demo", directory=DIRECTORY):
    """Record a session as the proxy does."""
    writer = SessionWriter(repository, identity_of(agent, directory), session, "run-1", None)
    for word in words.split():
        author = Author("carol", "human")
        writer.append(
            Message(id=new_id(), author=author, parts=text_parts(word), time=now(), extra={"acp": {"run": "1"}})
        )
    return writer.recorded.conversation


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


@pytest.mark.parametrize("agent", ["codex-acp", "Gemini-CLI", "OpenCode", "claude-code", "qwen-code", "pi"])
def test_a_transcript_of_another_agent_does_not_join_the_record(repository, tmp_path, agent):
    """Anybody can write the id of a session into a transcript."""
    record_live(repository, agent=agent)
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001", "conv-002"]
    assert list(list_branch_tips(repository, "conv-001")) == ["main"]


def test_an_agent_with_a_name_of_the_user_joins_its_record(repository, tmp_path):
    """`scopes acp --agent writer`: the name says nothing about the format."""
    record_live(repository, agent="writer")
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001"]


@pytest.mark.parametrize("directory", ["/home/carol", "/home/carol/shop/sub", "/home/carol/shop2", "/"])
def test_a_transcript_of_another_directory_does_not_join_the_record(repository, tmp_path, directory):
    record_live(repository, directory=directory)
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001", "conv-002"]


@pytest.mark.parametrize("directory", [f"{DIRECTORY}/", "/home/carol/./shop", "/home/carol/x/../shop", "", None, 7])
def test_another_name_of_the_directory_or_none_joins_the_record(repository, tmp_path, directory):
    """An editor may name no directory."""
    record_live(repository, directory=directory)
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001"]


def at_directory(tmp_path, directory):
    """Return a transcript that names a directory of its own, or none."""
    records = [{**record, "cwd": directory} for record in session_records(SESSION, "a b")]
    return write_transcript(tmp_path / "s.jsonl", *records)


def test_a_link_to_the_directory_is_the_directory(repository, tmp_path):
    """The record has the real path, and a transcript what the agent was given."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    record_live(repository, directory=str(tmp_path / "link"))
    import_demo(repository, at_directory(tmp_path, str(tmp_path / "link")))
    assert conversation_ids(repository) == ["conv-001"]


@pytest.mark.parametrize("directory", ["a\0b", "\ud800", "relative", "x" * 5000])
def test_a_directory_that_is_no_path_is_another_one(repository, tmp_path, directory):
    record_live(repository)
    import_demo(repository, at_directory(tmp_path, directory))
    assert conversation_ids(repository) == ["conv-001", "conv-002"]


def test_of_two_records_with_one_id_that_of_the_directory_is_joined(repository, tmp_path):
    """The first one is somebody else's: an agent may count its sessions for each project."""
    record_live(repository, directory="/elsewhere")
    record_live(repository)
    import_demo(repository, transcript(tmp_path))
    assert list(list_branch_tips(repository, "conv-001")) == ["main"]
    assert branch_words(repository, transcript_branch(repository, "conv-002"), "conv-002") == "a b"


def test_a_transcript_that_has_joined_stays_joined_when_its_header_changes(repository, tmp_path):
    """Its own record says where it went."""
    record_live(repository)
    import_demo(repository, transcript(tmp_path))
    import_demo(repository, at_directory(tmp_path, "/moved"))
    assert conversation_ids(repository) == ["conv-001"]


def test_an_earlier_session_of_a_record_joins_it_too(repository, tmp_path):
    """An agent that cannot resume goes on in a session of its own; both are one conversation."""
    record_live(repository)
    tip = list_branch_tips(repository, "conv-001")["main"]
    recorded = RecordedBranch("conv-001", "main", tip, SESSION, DIRECTORY)
    writer = SessionWriter(repository, identity_of("demo", DIRECTORY), "ses_fedcba9876543210", "run-2", recorded)
    writer.append(Message(id=new_id(), author=Author("carol", "human"), parts=text_parts("c"), time=now()))
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001"]
    assert branch_words(repository, transcript_branch(repository)) == "a b"


@pytest.mark.parametrize("stale", [None, 7, {}, [7, None, ["x"]], SESSION])
def test_earlier_sessions_that_are_no_list_of_ids_are_none(repository, tmp_path, stale):
    record_live(repository, session="ses_fedcba9876543210")
    with exclusive_write(repository):
        entry = read_metadata(repository, "conv-001").branches["main"]
        tx = Transaction(repository, "conv-001")
        tx.set_branch_entry("main", replace(entry, extra={"acp": {**entry.extra["acp"], "stale": stale}}))
        tx.commit("acp", "change the entry")
    import_demo(repository, transcript(tmp_path))
    assert conversation_ids(repository) == ["conv-001", "conv-002"]
