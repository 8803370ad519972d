"""A session that goes on after its conversation was purged, and copies of it, bring nothing of that back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scopes.clock import now
from scopes.conversation.verify import verify
from scopes.errors import CannotImport
from scopes.history.names import conversation_ids
from scopes.history.sources import SOURCES, purged_of, read_purged, source_key, write_purged
from scopes.history.transaction import RefTransaction
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import PURGED
from scopes.store.transactions import exclusive_write
from tests.importers.formats.claude_code.logs import SESSION, Log, text
from tests.importers.stores import branch_words, import_demo
from tests.importers.streams import import_paths
from tests.importers.test_live_records import DIRECTORY, Live
from tests.purge.test_purged_sessions import session, write_chats
from tests.support.every_byte import find_word
from tests.support.history import texts

WORD = "secret of the vault"
NEXT = ["and the docs?", "I look.\n\nwritten"]


class Running(Live):
    """A session behind `scopes acp` whose transcript has the times at which it was recorded."""

    def keep(self, prompt, answer):
        before = len(self.log.records)
        super().keep(prompt, answer)
        for record in self.log.records[before:]:
            record["timestamp"] = now().replace(".000Z", ".137Z")  # exact, as agents write it

    def turn(self, prompt, answer):
        self.record("prompt", prompt)
        self.keep(prompt, answer)
        self.record("answer", f"I look.\n\n{answer}")


@pytest.fixture
def live(repository, tmp_path):
    return Running(repository, tmp_path)


def purge_first(repository, places):
    return purge(repository, PurgeRequest(("conv-001",)), places)


def purge_and_go_on(live, places):
    live.turn(f"hide the {WORD}", "done")
    live.log.state("summary", summary=f"Hiding a {WORD}", leafUuid=live.log.last)
    purge_first(live.repository, places)
    live.turn("and the docs?", "written")


def test_only_what_came_after_is_taken(live, places):
    purge_and_go_on(live, places)
    live.keep("in a terminal", "there, too")
    done = live.save()
    assert live.texts() == [*NEXT, "in a terminal", "I look.", "there, too"]
    words = f"session {SESSION}: 4 messages of it were purged with their conversation"
    assert words in [note.text for note in done.notes]
    assert find_word(WORD, live.repository.path) == []
    assert verify(live.repository).exit_code == 0


def test_it_is_the_same_with_each_further_import(live, places):
    purge_and_go_on(live, places)
    live.save()
    before = live.repository.list_refs()
    assert (live.save().operation, live.repository.list_refs()) == (None, before)
    live.keep("in a terminal", "there, too")
    live.log.state("last-prompt", lastPrompt=f"hide the {WORD}")
    live.save()
    assert (live.branches(), live.texts()[:2]) == (["main"], NEXT)
    assert live.texts()[-1] == "there, too"
    assert find_word(WORD, live.repository.path) == []


def test_an_equal_prompt_came_before(live, places):
    """The prompts tell nothing then; the first one that was recorded later than the purge does."""
    live.turn("go on", f"the {WORD}")
    purge_first(live.repository, places)
    for record in live.log.records:
        record["timestamp"] = "2025-01-01T10:00:00.000Z"
    live.turn("go on", "written")
    live.save()
    assert live.texts() == ["go on", "I look.\n\nwritten"]
    assert find_word(WORD, live.repository.path) == []


def test_a_transcript_of_before_is_refused(live, places):
    live.turn("go on", f"the {WORD}")
    for record in live.log.records:
        record["timestamp"] = "2025-01-01T10:00:00.000Z"
    purge_first(live.repository, places)
    live.record("prompt", "go on")
    live.record("answer", "written")
    with pytest.raises(CannotImport, match="it does not have the first prompt of conv-001, which came after"):
        live.save()
    assert find_word(WORD, live.repository.path) == []


def test_another_line_of_the_transcript_stays_out(live, places):
    """The user took the prompt back and said another one: both begin the session."""
    live.turn(f"hide the {WORD}", "done")
    purge_first(live.repository, places)
    live.log.last = None
    live.turn("and the docs?", "written")
    live.save()
    assert (live.branches(), live.texts()) == (["main"], NEXT)
    assert find_word(WORD, live.repository.path) == []


def test_a_session_that_somebody_else_has_listed_is_taken_whole(live, places):
    live.turn(f"hide the {WORD}", "done")
    put_on_list(live.repository, f"session {SESSION}")
    live.keep("in a terminal", "there, too")
    live.save()
    assert live.texts() == [f"hide the {WORD}", "I look.\n\ndone", "in a terminal", "I look.", "there, too"]


def write_other(tmp_path, log, name):
    path = tmp_path / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(log.data())
    return str(path)


@pytest.mark.parametrize("is_imported", [True, False])
def test_a_fork_of_it_is_refused(live, places, tmp_path, is_imported):
    """Claude Code copies the messages, with the name of the session that they are of."""
    purge_and_go_on(live, places)
    if is_imported:
        live.save()
    fork = Log("99999999-2222-4333-8444-555555555555")
    fork.records = [
        {**record, "sessionId": fork.session, "forkedFrom": {"sessionId": SESSION, "messageUuid": record.get("uuid")}}
        for record in live.log.records
    ]
    with pytest.raises(CannotImport, match="its conversation was purged"):
        import_sources(live.repository, find_sources(write_other(tmp_path, fork, fork.session)), FORMATS)
    assert find_word(WORD, live.repository.path) == []


def test_a_copy_that_is_recorded_live_is_taken_from_there_on(live, places, tmp_path):
    """What was purged was imported; its session goes on as another one in an editor, and has all of it."""
    log = Log("99999999-2222-4333-8444-555555555555")
    log.user(f"hide the {WORD}", cwd=DIRECTORY, timestamp="2025-03-01T10:00:00.000Z")
    log.answer("m1", text("done"), cwd=DIRECTORY, timestamp="2025-03-01T10:00:00.137Z")
    import_paths(live.repository, write_other(tmp_path, log, log.session))
    purge_first(live.repository, places)
    live.log.records = [{**record, "sessionId": SESSION} for record in log.records]
    live.log.last = log.last
    live.turn("and the docs?", "written")
    live.save()
    live.keep("in a terminal", "there, too")
    live.save()
    assert live.texts() == [*NEXT, "in a terminal", "I look.", "there, too"]
    assert find_word(WORD, live.repository.path) == []


def resumed(live, tmp_path, keep=None):
    """Write a copy of the session under another name, as agents do that resume it, without saying what it is of."""
    copy = Log("99999999-2222-4333-8444-555555555555")
    copy.records = [{**record, "sessionId": copy.session} for record in live.log.records[:keep]]
    return write_other(tmp_path, copy, copy.session)


@pytest.mark.every_case("all of it, and what was purged alone")
@pytest.mark.parametrize("keep", [None, 2])
def test_a_copy_of_it_that_does_not_say_so_is_refused(live, places, tmp_path, keep):
    purge_and_go_on(live, places)
    live.save()
    path = resumed(live, tmp_path, keep)
    for _ in range(2):
        with pytest.raises(CannotImport, match="a conversation that was purged"):
            import_sources(live.repository, find_sources(path), FORMATS)
    assert find_word(WORD, live.repository.path) == []
    live.keep("in a terminal", "there, too")
    live.save()
    assert live.texts() == [*NEXT, "in a terminal", "I look.", "there, too"]


def test_a_copy_that_is_imported_with_it_is_refused(live, places, tmp_path):
    purge_and_go_on(live, places)
    paths = [write_other(tmp_path, live.log, SESSION), resumed(live, tmp_path)]
    import_sources(live.repository, [source for path in paths for source in find_sources(path)], FORMATS)
    assert live.texts() == NEXT
    assert conversation_ids(live.repository) == ["conv-001"]
    assert find_word(WORD, live.repository.path) == []


def test_a_session_with_the_same_prompts_and_short_answers_is_taken(live, places, tmp_path):
    """Nothing in it is of the purged one: the ids and times of the answers are others."""
    live.turn("hello", "done")
    purge_first(live.repository, places)
    live.turn("and the docs?", "written")
    live.save()
    other = Log("99999999-2222-4333-8444-555555555555")
    for number, prompt in enumerate(("hello", "and the docs?")):
        other.user(prompt, cwd=DIRECTORY, timestamp=f"2025-03-0{number + 1}T10:00:00.000Z")
        stamp = f"2025-03-0{number + 1}T10:00:01.137Z"
        other.answer(f"other{number}", text("I look."), cwd=DIRECTORY, timestamp=stamp)
    done = import_paths(live.repository, write_other(tmp_path, other, other.session))
    assert [each.id for each in done.conversations] == ["conv-002"]
    assert texts(live.repository, "conv-002") == ["hello", "I look.", "and the docs?", "I look."]


def test_a_conversation_that_is_here_and_begins_like_it_goes_on(live, places, tmp_path):
    """A copy of the first turn was kept as a conversation of its own; it is no copy of what was purged after it."""
    live.turn("hello", "done")
    import_paths(live.repository, fork := resumed(live, tmp_path))
    (kept,) = {*conversation_ids(live.repository)} - {"conv-001"}
    live.turn(f"hide the {WORD}", "done")
    purge_first(live.repository, places)
    live.turn("and the docs?", "written")
    live.save()
    grown = Log("99999999-2222-4333-8444-555555555555")
    grown.records = [json.loads(line) for line in Path(fork).read_text(encoding="utf-8").splitlines()]
    grown.last = grown.records[-1]["uuid"]
    grown.user("and now?", cwd=DIRECTORY)
    import_paths(live.repository, write_other(tmp_path, grown, grown.session))
    assert texts(live.repository, kept)[-1] == "and now?"
    third = Log("99999999-2222-4333-8444-555555555556")
    third.records = [{**record, "sessionId": third.session} for record in grown.records]
    import_paths(live.repository, write_other(tmp_path, third, third.session), join=False)
    assert find_word(WORD, live.repository.path) == []


@pytest.mark.every_case("one that began before, and one that began after")
@pytest.mark.parametrize("since", ["2025-01-01T10:00:00.000Z", "2999-01-01T10:00:00.000Z"])
def test_a_sub_agent_is_taken_if_it_began_after(live, places, tmp_path, since):
    purge_and_go_on(live, places)
    live.save()
    log = Log()
    log.user(f"look for the {WORD}", isSidechain=True, agentId="a1b2c3", timestamp=since, cwd=DIRECTORY)
    log.answer("s1", text("found it"), isSidechain=True, agentId="a1b2c3", timestamp=since, cwd=DIRECTORY)
    path = write_other(tmp_path, log, f"{SESSION}/subagents/agent-a1b2c3")
    is_after = since > now()
    if is_after:
        import_paths(live.repository, path)
    else:
        with pytest.raises(CannotImport, match="its conversation was purged"):
            import_paths(live.repository, path)
    assert bool(find_word(WORD, live.repository.path)) == is_after


@pytest.mark.every_case("the file as it was, and one that has grown")
@pytest.mark.parametrize("words", ["a b secret", "a b secret c"])
@pytest.mark.parametrize("join", [True, False])
def test_a_conversation_that_begins_like_it_opens_no_door(repository, places, tmp_path, words, join):
    import_demo(repository, session(tmp_path, "s1", "a b secret"))
    import_demo(repository, session(tmp_path, "s2", "a b x"), join=False)
    purge_first(repository, places)
    assert find_word(WORD, repository.path) == []
    with pytest.raises(CannotImport, match="its conversation was purged"):
        import_demo(repository, session(tmp_path, "s1", words), join=join)
    done = import_demo(repository, session(tmp_path, "s1", words), session(tmp_path, "s2", "a b x y"), join=join)
    assert [each.id for each in done.conversations] == ["conv-002"]
    assert branch_words(repository, conversation="conv-002") == "a b x y"
    assert find_word(WORD, repository.path) == []


@pytest.mark.parametrize("join", [True, False])
def test_nor_for_a_copy_that_nobody_had_imported(repository, places, tmp_path, join):
    """Its name is on no list, and its first answers are those of the conversation that is kept."""
    import_demo(repository, session(tmp_path, "s1", "a b secret c"))
    import_demo(repository, session(tmp_path, "s2", "a b x"), join=False)
    purge_first(repository, places)
    with pytest.raises(
        CannotImport, match=r"it has messages of a conversation that was purged|begins with the messages"
    ):
        import_demo(repository, session(tmp_path, "s3", "a b secret c z"), join=join)
    assert find_word(WORD, repository.path) == []
    import_demo(repository, session(tmp_path, "s4", "a b x y"))
    assert branch_words(repository, "fork/s4", "conv-002") == "a b x y"


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
