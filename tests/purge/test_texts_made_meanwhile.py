"""A text that is made of messages without the lock is not stored if something of them was purged meanwhile."""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace

import pytest

from scopes.agents.register import register
from scopes.context import context as context_module
from scopes.conversation import append as amend
from scopes.conversation import list as list_module
from scopes.errors import Busy, NotFound, ScopesError
from scopes.facts.decide import promote
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.history.handles import StoreHandle
from scopes.index import full_text, sqlite_files
from scopes.memory import decision_candidates
from scopes.memory import summarize as summarize_module
from scopes.memory.entry_builder import EntryBuilder
from scopes.memory.store import Memory
from scopes.memory.summarize import summarize
from scopes.memory.update import update
from scopes.model.message import Author
from scopes.proposals import review
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.search.run import search
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.context.building import built
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.store import git, open_store, overtake

USER = Author("dave", "human")
WORDS = SimpleNamespace(count=lambda text: len(text.split()), prepare=lambda texts: None, method="estimate")
WORD = "Xylophone-Quarantine-4711"
INDEXED = "Xylophone"  # as the index has it


@pytest.fixture(params=["message", "conversation"])
def request_of(request, repository):
    """Make two conversations; return what to purge of the first one."""
    made = history(repository, "main: a")
    message = say(repository, made.conversation, f"We decided that {WORD} is the code of the north door.")
    other = history(repository, "main: b").conversation
    say(repository, other, "We decided to use SQLite for the shop.")
    if request.param == "conversation":
        return PurgeRequest((made.conversation,))
    return PurgeRequest(conversation=made.conversation, messages=(message.id,))


def purge_after(monkeypatch, owner, name, repository, request, places):
    """Purge in another open store when a function of an owner has returned for the first time."""
    original, waiting = getattr(owner, name), [request]

    def wrapped(*words, **options):
        made = original(*words, **options)
        for each in [waiting.pop()] if waiting else []:
            assert purge(open_store(repository.path), each, places).left == ()
        return made

    monkeypatch.setattr(owner, name, wrapped)


def test_a_memory_entry(repository, places, monkeypatch, request_of):
    purge_after(monkeypatch, EntryBuilder, "build", repository, request_of, places)
    done = update(repository, at_once=True, built_in=True)
    assert [entry.conversation for entry in Memory(repository).entries] == ["conv-002"]
    assert [note.text for note in done.notes] == [
        "something of conv-001/main was purged meanwhile: no entry of it was stored"
    ]
    assert find_word(WORD, repository.path) == []


@pytest.mark.parametrize("compact", [False, True])
def test_a_summary(repository, places, monkeypatch, request_of, compact):
    purge_after(monkeypatch, summarize_module, "_write", repository, request_of, places)
    with pytest.raises(Busy, match="purged meanwhile"):
        summarize(repository, "conv-001", WORDS, built_in=True, include_all=True, compact=compact)
    assert find_word(WORD, repository.path) == []


def test_a_decision_of_a_candidate(repository, places, monkeypatch, request_of):
    (candidate,) = decision_candidates.list_candidates(repository, "conv-001").candidates
    purge_after(monkeypatch, decision_candidates, "plain_message", repository, request_of, places)
    with pytest.raises((Busy, NotFound), match=r"purged meanwhile|there is no"):
        decision_candidates.accept_candidate(repository, "conv-001", candidate.id, author=USER)
    assert find_word(WORD, repository.path) == []


def test_an_amendment_that_is_stored_while_a_purge_waits_goes_too(repository, places):
    drawn = history(repository, "main: a")
    message = say(repository, drawn.conversation, f"the code is {WORD}")
    overtake(repository, lambda store: amend.amend(store, "conv-001", message.id, f"not {WORD}", author=USER))
    done = purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(message.id,)), places)
    assert (done.messages, done.left) == (2, ())
    assert find_word(WORD, repository.path) == []


def test_what_an_agent_concludes(repository, places, monkeypatch):
    """The message is gone, and what the agent says may tell of it."""
    conversation = history(repository, "main: a").conversation
    message = say(repository, conversation, f"The code is {WORD}.")
    register(repository, "ann", dependencies=["Seeds"])
    propose(repository, conversation, Proposal(key="Seeds", content="a seed", agent="carol", id="seed"))
    promote(repository, conversation, "seed")
    request = PurgeRequest(conversation=conversation, messages=(message.id,))

    def command(*arguments, **options):
        assert purge(open_store(repository.path), request, places).left == ()
        return json.dumps({"facts": [{"key": "Seeds", "content": f"it is {WORD}", "id": "more"}]}).encode()

    monkeypatch.setattr("scopes.facts.programs.run_command", command)
    with pytest.raises(Busy, match="purged meanwhile"):
        run_programs(repository, conversation, {"ann": "an agent"}, RunLimits())
    assert find_word(WORD, repository.path) == []


def test_a_proposal_with_the_value_of_before(repository, places, monkeypatch, request_of):
    purge_after(monkeypatch, review, "read_value", repository, request_of, places)
    with pytest.raises((Busy, NotFound), match=r"purged meanwhile|there is no|was deleted"):
        review.create_proposal(
            StoreHandle(repository).branch("conv-001"), "task/42", [review.NewChange("code", "set", WORD)], author=USER
        )
    assert find_word(WORD, repository.path) == []


def test_a_search_index(repository, places, monkeypatch, request_of):
    """The purge has deleted the index when the search writes it; an open pack can be read after it was deleted."""
    git(repository, "repack", "-adq")
    repository.close()
    assert [message.text for message in StoreHandle(repository).branch("conv-001").messages()]
    purge_after(monkeypatch, sqlite_files, "prepare", repository, request_of, places)
    with suppress(ScopesError):
        search(repository, "SQLite", index_directory=places.index_directory)
    assert find_word(INDEXED, repository.path, places.index_directory) == []
    assert [hit.head.id for hit in search(repository, "SQLite", index_directory=places.index_directory).hits]


@pytest.mark.every_case("what is seen of the purge depends on what was open when it came")
@pytest.mark.parametrize(
    ("owner", "step"),
    [(sqlite_files, "prepare"), (sqlite_files, "connect"), (full_text, "sync_index")],
    ids=["prepare", "connect", "sync"],
)
def test_a_search_during_a_purge_is_made_again(repository, places, monkeypatch, request_of, owner, step):
    git(repository, "repack", "-adq")
    repository.close()
    purge_after(monkeypatch, owner, step, repository, request_of, places)
    done = search(repository, "code OR SQLite", index_directory=places.index_directory)
    texts = ["".join(piece.text for piece in hit.snippet) for hit in done.hits]
    assert texts == ["We decided to use SQLite for the shop."]
    assert done.notes == ()
    assert find_word(INDEXED, repository.path, places.index_directory) == []


def test_a_search_during_one_purge_after_another_names_the_reason(repository, places, monkeypatch):
    made = history(repository, "main: a")
    prepare = sqlite_files.prepare

    def prepare_and_purge(directory):
        message = say(open_store(repository.path), made.conversation, "more")
        request = PurgeRequest(conversation=made.conversation, messages=(message.id,))
        purge(open_store(repository.path), request, places)
        prepare(directory)

    monkeypatch.setattr(sqlite_files, "prepare", prepare_and_purge)
    with pytest.raises(Busy, match="scopes purge has deleted objects"):
        search(repository, "more", index_directory=places.index_directory)


def test_the_rows_of_a_list(repository, places, monkeypatch, request_of):
    purge_after(monkeypatch, list_module, "sorted_list", repository, request_of, places)
    with suppress(ScopesError):
        list_module.list_conversations(repository, directory=places.index_directory)
    assert find_word(WORD, repository.path, places.index_directory) == []


def test_a_kept_context(repository, places, monkeypatch, request_of, tmp_path):
    purge_after(monkeypatch, context_module, "stat_files", repository, request_of, places)
    with suppress(ScopesError):
        built(repository, choose_tokenizer(RankFilePaths(str(tmp_path))), tmp_path)
    assert find_word(WORD, repository.path, tmp_path / "cache") == []
