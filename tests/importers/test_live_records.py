"""The transcript of a session that `scopes acp` has recorded adds only what the record does not have."""

from __future__ import annotations

import fcntl
import os

import pytest

from scopes.clock import new_id, now
from scopes.context.history_block import HistoryRequest, history
from scopes.conversation.verify import verify
from scopes.history.handles import StoreHandle
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.verify_source import verify_source
from scopes.model.message import Author, Message, Part, text_parts
from scopes.server.acp.recordings import SessionWriter, find_session, identity_of
from scopes.store.locks import session_lock_path
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.importers.formats.claude_code.logs import SESSION, Log, call, text
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

AGENT, DIRECTORY = "@zed-industries/claude-code-acp", "/home/carol/shop"
ACP = {"acp": {"run": "run-1"}}


class Live:
    """A session behind `scopes acp`, and the transcript that the agent keeps of it."""

    def __init__(self, repository, path):
        self.repository, self.path, self.log = repository, path / f"{SESSION}.jsonl", Log()
        self.writer = self.begin(None)

    def begin(self, recorded, run="run-1"):
        return SessionWriter(self.repository, identity_of(AGENT, DIRECTORY), SESSION, run, recorded)

    def record(self, kind, words, *, parts=(), **fields):
        author = Author("user", "human") if kind == "prompt" else Author(AGENT)
        body = (*text_parts(words), *parts) if words else tuple(parts)
        message = Message(id=new_id(), author=author, parts=body, time=now(), kind=kind, extra=ACP, **fields)
        self.writer.append(message)

    def keep(self, prompt, answer):
        """Let the agent write a turn with a tool call into its transcript: four messages, or five."""
        number = len(self.log.records)
        self.log.user(prompt, cwd=DIRECTORY)
        self.log.answer(f"m{number}", text("I look."), call(f"toolu_{number}"), cwd=DIRECTORY)
        self.log.result(f"toolu_{number}", cwd=DIRECTORY)
        self.log.answer(f"n{number}", text(answer), cwd=DIRECTORY, stop="end_turn")

    def turn(self, prompt, answer):
        """Record a turn, and let the agent keep it: the record has fewer messages."""
        self.keep(prompt, answer)
        self.record("prompt", prompt)
        self.record("answer", f"I look.\n\n{answer}")

    def save(self, **options):
        """Import the transcript as it is."""
        self.path.write_bytes(self.log.data())
        return import_sources(self.repository, find_sources(str(self.path)), FORMATS, ImportOptions(**options))

    def branches(self):
        return sorted(list_branch_tips(self.repository, "conv-001"))

    def texts(self, branch="main"):
        """Return the texts of the prompts and answers of a branch, oldest first."""
        messages = StoreHandle(self.repository).conversation("conv-001").branch(branch).messages()
        return [m.text for m in reversed(list(messages)) if m.kind in {"prompt", "answer"} and m.text]


@pytest.fixture
def live(repository, tmp_path):
    return Live(repository, tmp_path)


ONE = ["hide the prices", "I look.\n\ndone, in prices.py"]
TWO = ["and the tests?", "I look.\n\nthey pass"]
KEPT = ["and the docs?", "I look.", "written"]


def two_turns(live):
    live.turn("hide the prices", "done, in prices.py")
    live.turn("and the tests?", "they pass")


def test_a_recorded_session_is_stored_once(live):
    two_turns(live)
    tip = list_branch_tips(live.repository, "conv-001")
    done = live.save()
    assert [(each.id, each.new_messages) for each in done.conversations] == [("conv-001", 0)]
    assert list_branch_tips(live.repository, "conv-001") == tip
    assert live.texts() == [*ONE, *TWO]


def test_every_byte_of_the_transcript_is_kept_and_says_which_message_it_is(live):
    two_turns(live)
    done = live.save()
    [source] = done.sources
    assert (source.accounted_bytes, source.messages) == (source.size, 4)
    assert verify_source(live.repository, str(live.path), FORMATS).whole
    assert verify(live.repository).exit_code == 0


def test_a_second_import_writes_nothing(live):
    two_turns(live)
    live.save()
    before = live.repository.list_refs("refs/")
    assert live.save().operation is None
    assert live.repository.list_refs("refs/") == before


def test_turns_in_a_terminal_go_on_on_the_branch_of_the_record(live):
    """The agent is resumed there after the editor was closed."""
    two_turns(live)
    live.keep("and the docs?", "written")
    live.save()
    assert live.branches() == ["main"]
    assert live.texts() == [*ONE, *TWO, *KEPT]


@pytest.mark.parametrize("is_imported_before", [True, False])
def test_a_terminal_between_two_editors_is_in_its_place(live, is_imported_before):
    """As a hook imports it before the editor is back; without one the later turns are on a branch of their own."""
    live.turn("hide the prices", "done, in prices.py")
    live.keep("and the docs?", "written")
    if is_imported_before:
        live.save()
    live.writer = live.begin(find_session(live.repository, AGENT, SESSION), "run-2")
    live.turn("and the tests?", "they pass")
    live.save()
    if is_imported_before:
        assert (live.branches(), live.texts()) == (["main"], [*ONE, *KEPT, *TWO])
    else:
        assert live.branches() == ["fork/55555555", "main"]
        assert live.texts("fork/55555555") == [*ONE, *KEPT, "and the tests?", "I look.", "they pass"]
        assert live.texts() == [*ONE, *TWO]
    before = live.repository.list_refs("refs/")
    live.save()
    assert live.repository.list_refs("refs/") == before


def test_what_follows_an_import_is_imported_from_there(live):
    two_turns(live)
    for number in range(3):
        live.keep(f"more {number}", f"answer {number}")
        live.save()
    assert live.branches() == ["main"]
    assert live.texts()[4:] == [text for n in range(3) for text in (f"more {n}", "I look.", f"answer {n}")]


@pytest.mark.parametrize("recorded", [[], ["I look."]])
def test_a_turn_whose_recording_was_interrupted_gets_its_end_from_the_transcript(live, recorded):
    """The proxy was killed: it has the prompt, and perhaps the beginning of the answer."""
    live.turn("hide the prices", "done, in prices.py")
    live.keep("and the docs?", "written")
    live.record("prompt", "and the docs?")
    for words in recorded:
        live.record("answer", words, status="interrupted")
    expected = [*ONE, "and the docs?", *recorded, *KEPT[1:]]  # the transcript has a call in the message: it is another
    for _ in range(2):
        live.save()
        assert (live.branches(), live.texts()) == (["main"], expected)


def test_calls_of_an_interrupted_turn_are_known_by_their_ids(live):
    live.keep("and the docs?", "written")
    live.record("prompt", "and the docs?")
    parts = [Part("tool_call", {"call_id": "toolu_0", "name": "Bash", "input": {}})]
    live.record("answer", "I look.", parts=parts, status="interrupted")
    live.save()
    assert live.texts() == KEPT


def test_a_session_that_is_being_recorded_is_left_alone(live):
    """A hook at the end of a turn may see more than the proxy has written."""
    two_turns(live)
    path = session_lock_path(live.repository.path, (AGENT, SESSION))
    os.makedirs(os.path.dirname(path))
    live.keep("and the docs?", "written")
    with open(path, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = live.save()
        assert [each.reason for each in done.skipped] == [f"scopes acp is recording session {SESSION}"]
        assert live.texts() == [*ONE, *TWO]
    live.save()
    assert live.texts() == [*ONE, *TWO, *KEPT]


def test_a_history_that_was_put_before_the_first_prompt_makes_no_difference(live):
    """The record has the user's own words: an agent without a session of its own got the history with them."""
    live.turn("hide the prices", "done, in prices.py")
    block = history(
        live.repository,
        HistoryRequest(where="conv-001", last=50, max_tokens=9000),
        choose_tokenizer(RankFilePaths(live.path.parent, None, ())),
    )
    live.log = Log()
    live.keep(f"{block.text}and the docs?", "written")
    live.record("prompt", "and the docs?")
    live.record("answer", "written")
    live.save()
    assert (live.branches(), live.texts()) == (["main"], [*ONE, "and the docs?", "written"])


def test_another_prompt_is_another_history(live):
    """Nothing is known of it: it is a branch, as before."""
    live.turn("hide the prices", "done, in prices.py")
    live.log = Log()
    live.keep("show the prices", "done")
    live.save()
    assert live.branches() == ["fork/55555555", "main"]
    assert conversation_ids(live.repository) == ["conv-001"]


def test_messages_of_others_on_the_branch_stay_where_they_are(live):
    two_turns(live)
    live.keep("and the docs?", "written")
    note = Message(id=new_id(), author=Author("dave", "human"), parts=text_parts("nice"), time=now())
    live.writer.append(note)
    live.save()
    assert live.texts() == [*ONE, *TWO]
    assert live.branches() == ["fork/55555555", "main"]
    assert live.texts("fork/55555555") == [*ONE, *TWO, *KEPT]


def test_a_dry_run_says_that_nothing_is_new(live):
    two_turns(live)
    before = live.repository.list_refs("refs/")
    assert [each.new_messages for each in live.save(dry_run=True).conversations] == [0]
    assert live.repository.list_refs("refs/") == before
