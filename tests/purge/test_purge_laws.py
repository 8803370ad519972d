"""Over random work: a purge takes out the chosen messages and nothing else, and the store stays whole."""

from __future__ import annotations

import random

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.delete import delete_branch
from scopes.conversation.merge import merge
from scopes.conversation.rewind import rewind
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import ScopesError
from scopes.history.revisions import list_branch_tips
from scopes.model.tombstone import PURGED_TEXT
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.support.decisions import decide
from tests.support.every_byte import find_word
from tests.support.examples import sample
from tests.support.history import history, say, texts


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
