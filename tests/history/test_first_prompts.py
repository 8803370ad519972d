"""First prompts that are found while messages are written are those that a walk finds."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.errors import NotFound
from scopes.history import first_prompts as module
from scopes.history.first_prompts import WrittenPrompts
from scopes.history.messages import read_message_at, write_message_blob, write_message_commit, write_root_commit
from scopes.history.titles import first_prompt
from scopes.ids import MessageId, Oid
from scopes.model.conversation import Root
from scopes.model.message import Author, Message, text_parts
from scopes.store.graph import walk_newest_first
from scopes.store.repository import read_commit
from tests.history.test_titles import CAVEAT, COMMAND, IDE
from tests.support.examples import examples
from tests.support.store import make_store, remove_object

TEXTS = (
    "",
    " \n",
    "hello",
    IDE,
    f"{IDE}\nfix",
    CAVEAT,
    COMMAND,
    f"{CAVEAT}\n{COMMAND}\nrun",
    "<div> is broken",
    "x" * 600,
)
AUTHORS = ("human", "agent", "tool", "system", "injected")
KINDS = ("prompt", "answer", "meta", "tool-results")
MESSAGES = st.tuples(st.sampled_from(AUTHORS), st.sampled_from(KINDS), st.sampled_from(TEXTS))
TREES = st.lists(st.tuples(st.integers(0, 3), MESSAGES), max_size=9)  # how far back the parent is


class Writer:
    """Writes messages as an import does, and tells `WrittenPrompts` of each."""

    def __init__(self, repository):
        self.repository = repository
        self.prompts = WrittenPrompts()
        self.written = []

    def root(self, uuid="u"):
        root = Root(uuid=uuid, created="2026-01-01T12:00:00Z", format=None, native_id=None, cwd=None)
        self.written.append(write_root_commit(self.repository, root, {}))
        self.prompts.add_root(self.written[-1])
        return self.written[-1]

    def say(self, parent, author_kind="human", kind="prompt", text="hello"):
        identity = MessageId(f"{len(self.written):026d}".translate(str.maketrans("0189", "abcd")))
        message = Message(id=identity, author=Author("a", author_kind), parts=text_parts(text), kind=kind)
        blob = write_message_blob(self.repository, message)
        self.written.append(write_message_commit(self.repository, parent, message, blob))
        self.prompts.add(self.written[-1], parent, author_kind, kind, text)
        return self.written[-1]

    def walked(self, tip):
        return first_prompt(self.repository, walk_newest_first(self.repository, [tip]))

    def found(self, tip):
        commits = self.prompts.find(self.repository, tip)
        return "unknown" if commits is None else first_prompt(self.repository, commits)


@pytest.fixture
def writer(repository):
    return Writer(repository)


@given(tree=TREES)
@settings(max_examples=examples(120), deadline=None)
def test_what_is_found_is_what_a_walk_finds(tree):
    """Lines that branch anywhere, of messages of every author, with and without a text that somebody typed."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Writer(make_store(f"{directory}/store.git"))
        writer.root()
        for back, (author_kind, kind, text) in tree:
            writer.say(writer.written[max(0, len(writer.written) - 1 - back)], author_kind, kind, text)
        for tip in writer.written:
            assert writer.found(tip) in ("unknown", writer.walked(tip))


@given(messages=st.lists(MESSAGES, max_size=9))
@settings(max_examples=examples(60), deadline=None)
def test_the_line_of_a_history_without_branches_is_known(messages):
    with tempfile.TemporaryDirectory() as directory:
        writer = Writer(make_store(f"{directory}/store.git"))
        tip = writer.root()
        for message in messages:
            tip = writer.say(tip, *message)
        assert writer.found(tip) == writer.walked(tip) != "unknown"


def test_lines_that_begin_at_one_root_are_all_known(writer):
    """Those of a session and of its sub-agents."""
    root = writer.root()
    tips = [writer.say(writer.say(root, text=text), "agent", "answer", "yes") for text in ("one", "two", "three")]
    assert [writer.found(tip) for tip in tips] == ["one", "two", "three"]


def test_of_two_messages_after_one_only_the_first_continues_its_line(writer):
    fork = writer.say(writer.root(), text="before")
    first, second = writer.say(fork, text="first"), writer.say(fork, text="second")
    assert [writer.found(tip) for tip in (fork, first, second)] == ["unknown", "before", "unknown"]
    assert writer.found(writer.say(second, text="more")) == "unknown"


def test_only_the_last_message_of_each_line_takes_memory(writer):
    tip = root = writer.root()
    for number in range(30):
        tip = writer.say(tip, text=f"text {number}")
    assert set(writer.prompts._lines) == {root, tip}


def test_a_message_whose_root_is_not_known_is_left_out(writer):
    """It belongs to a conversation that the store had before."""
    writer.prompts.add(Oid("1" * 40), Oid("2" * 40), "human", "prompt", "hello")
    assert writer.prompts.find(writer.repository, Oid("1" * 40)) is None


def test_the_commits_that_are_read_are_the_prompt_and_the_root(writer, monkeypatch):
    root = writer.root()
    prompt = writer.say(writer.say(root, "injected", "meta", CAVEAT), text="fix it")
    tip = writer.say(writer.say(prompt, "agent", "answer"), text="thanks")
    read = []
    monkeypatch.setattr(module, "read_commit", lambda _, oid: read.append(oid) or read_commit(writer.repository, oid))
    assert writer.found(tip) == "fix it"
    assert read == [root, prompt]


def test_a_line_is_walked_if_its_prompt_turns_out_to_be_none(writer, monkeypatch):
    """The text that was announced is not that of the stored message, which only a program has written."""
    root = writer.root()
    monkeypatch.setattr(module, "typed_text", lambda text: text)
    tip = writer.say(writer.say(root, text=IDE), text="later")
    assert read_message_at(writer.repository, read_commit(writer.repository, tip).tree).text == "later"
    assert (writer.found(tip), writer.walked(tip)) == ("unknown", "later")


def test_a_prompt_that_cannot_be_read_is_an_error_as_in_a_walk(writer):
    prompt = writer.say(writer.root())
    tip = writer.say(prompt, "agent", "answer", "yes")
    remove_object(writer.repository, prompt)
    writer.repository.recent.clear()
    for find in (writer.found, writer.walked):
        with pytest.raises(NotFound):
            find(tip)
