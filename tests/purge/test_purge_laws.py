"""Over random work: a purge takes out the chosen messages and nothing else, and the store stays whole."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress

import pytest

from scopes.conversation.branch import branch, rewind
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete_branch
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Corrupt, ScopesError
from scopes.history.messages import MESSAGE_FILE
from scopes.history.names import list_branch_tips
from scopes.history.sources import read_purged
from scopes.importers.purged_texts import Quotes
from scopes.model.message import PURGED_TEXT
from scopes.purge.proof import prove
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.objects import find_entry, read_commit
from scopes.store.refs import PURGED
from scopes.store.transactions import exclusive_write
from tests.support.decisions import decide
from tests.support.every_byte import find_word
from tests.support.examples import sample
from tests.support.history import history, say, texts
from tests.support.remotes import add, fetch_from, make_bare, push_to
from tests.support.store import open_store


def work(repository, chance):
    """Do random things in a conversation; return the texts of its messages by id."""
    name, spoken = history(repository, "main: a").conversation, {}
    for number in range(14):
        where = chance.choice([*list_branch_tips(repository, name)])
        text = f"Message-{number}-{chance.getrandbits(64):016x}"
        act = chance.choice(["say", "say", "say", "decide", "branch", "merge", "rewind", "delete", "undo"])
        try:
            if act == "say":
                spoken[say(repository, f"{name}/{where}", text).id] = text
            elif act == "decide":
                spoken[decide(repository, f"{name}/{where}", text, topic=chance.choice("xy")).id] = text
            elif act == "branch":
                branch(repository, name, name=f"b{number}", start=where, switch=False)
            elif act == "merge":
                merge(repository, name, where, target="main")
            elif act == "rewind":
                rewind(repository, name, branch=where)
            elif act == "delete":
                delete_branch(repository, name, where, force=True)
            else:
                undo(repository)
                if not list_branch_tips(repository, name):  # all of the conversation was undone
                    redo(repository)
        except ScopesError:
            continue  # not possible now
    return name, spoken


def logs(repository, name):
    return {each: texts(repository, f"{name}/{each}") for each in list_branch_tips(repository, name)}


@pytest.mark.parametrize("seed", sample(range(60), 6))
def test_a_purge_takes_out_what_was_chosen_and_nothing_else(repository, places, seed):
    chance = random.Random(seed)
    name, spoken = work(repository, chance)
    if not spoken:
        return
    chosen = chance.sample(sorted(spoken), min(2, len(spoken)))
    gone = [spoken[each] for each in chosen]
    before = logs(repository, name)
    done = purge(repository, PurgeRequest(conversation=name, messages=tuple(chosen)), places)
    assert done.left == ()
    assert [find_word(text, repository.path) for text in gone] == [[] for _ in gone]
    after = {
        each: [PURGED_TEXT if any(t in text for t in gone) else text for text in found]
        for each, found in before.items()
    }
    assert {
        each: [text for text in found if PURGED_TEXT not in text] for each, found in logs(repository, name).items()
    } == {each: [text for text in found if PURGED_TEXT not in text] for each, found in after.items()}
    assert [each.problem for each in verify(repository).findings if each.severity == "error"] == []


def copy_of(repository, tmp_path):
    """Make a copy of a store as somebody makes one with cp, and open it."""
    shutil.copytree(repository.path, tmp_path / "copy.git")
    return open_store(str(tmp_path / "copy.git"))


@pytest.mark.parametrize("seed", sample(range(60), 4))
def test_two_copies_that_purge_the_same_are_equal(repository, places, tmp_path, seed):
    """Whatever was done before: the list is joined, and the tips are the same commit by commit."""
    chance = random.Random(seed)
    name, spoken = work(repository, chance)
    if len(spoken) < 2:
        return
    copy = copy_of(repository, tmp_path)
    one, two = chance.sample(sorted(spoken), 2)
    purge(repository, PurgeRequest(conversation=name, messages=(one, two)), places)
    for each in (two, one):
        purge(copy, PurgeRequest(conversation=name, messages=(each,)), Places(str(tmp_path / "other")))
    assert list_branch_tips(copy, name) == list_branch_tips(repository, name)
    assert read_purged(copy) == read_purged(repository)
    assert copy.find_ref(PURGED) == repository.find_ref(PURGED)


@pytest.mark.parametrize("seed", sample(range(60), 4))
def test_what_one_has_purged_does_not_come_back_from_a_remote_that_has_it(repository, places, tmp_path, seed):
    chance = random.Random(seed)
    name, spoken = work(repository, chance)
    if not spoken:
        return
    add(repository, make_bare(tmp_path / "bare.git"))
    push_to(repository)
    chosen = chance.choice(sorted(spoken))
    purge(repository, PurgeRequest(conversation=name, messages=(chosen,)), places)
    before = list_branch_tips(repository, name)
    with suppress(Corrupt):  # unless nothing of it is on a branch any more
        assert fetch_from(repository).conversations == ()
    assert (list_branch_tips(repository, name), find_word(spoken[chosen], repository.path)) == (before, [])


@pytest.mark.parametrize("text", ["no", "x", "1234", "a short line"])
def test_the_object_of_a_message_goes_however_short_its_text_is(repository, places, text):
    """The proof looks for ids of removed objects, because a short text is everywhere by chance."""
    name = history(repository, "main: a").conversation
    message = say(repository, name, text)
    commit = list_branch_tips(repository, name)["main"]
    blob = find_entry(repository, read_commit(repository, commit).tree, MESSAGE_FILE).oid
    assert purge(repository, PurgeRequest(conversation=name, messages=(message.id,)), places).left == ()
    assert [repository.has(each) for each in (commit, blob)] == [False, False]


@pytest.mark.parametrize("copies", [1, 3])
def test_a_copy_of_a_removed_object_is_found_by_its_id(repository, places, copies):
    history(repository, "main: a")
    oids = [repository.write("blob", b"no%d" % number) for number in range(copies)]
    with exclusive_write(repository):
        left = prove(repository, oids, Quotes(), places.derived).left
    assert {f"object {oid}" for oid in oids} <= set(left)
