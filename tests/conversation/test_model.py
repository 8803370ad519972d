"""Stateful test: a store equals its model under any sequence of verbs, kills, new processes and gc (P3, P4, P9, P16)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from scopes.conversation.branch import branch, list_tags, rewind, switch, tag
from scopes.conversation.changes import changes
from scopes.conversation.list import list_conversations
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_branch, rename_conversation
from scopes.conversation.show import show
from scopes.conversation.store import gc
from scopes.conversation.undo import redo, undo
from scopes.errors import NotFound, Refused
from scopes.history.names import list_branch_tips
from tests.conversation.modeled_store import ModeledStore
from tests.support.examples import examples
from tests.support.history import texts
from tests.support.store import open_store

CONVERSATIONS = st.sampled_from(["one", "two"])
BRANCHES = st.sampled_from(["main", "fix", "fix/a", "other", "new/a", "new"])
talking = precondition(lambda machine: machine.model)
TEXTS = st.text(alphabet=st.characters(exclude_categories=[]), max_size=12)


class StoreMachine(ModeledStore):
    """Every verb as a rule, with its effect on the model or its refusal."""

    @initialize()
    def begin(self):
        self.new("one")
        for name, back, words in (("main", 0, "abcd"), ("fix", 2, "ef"), ("other", 1, "g")):
            if name != "main":
                self.begin_branch("one", name, "main", back, active=False)
            self.append_words("one", name, words)

    @rule(turn=st.integers(min_value=0, max_value=6))
    def die_in_the_next_operation(self, turn):
        self.death = turn

    @rule()
    def look_at_the_change_log(self):
        """S4-51: earlier rows of the change log never change, even if the conversation was renamed or deleted."""
        for conversation in {key[0] for key in self.model}:
            root = self.branches(conversation).popitem()[1][0]
            change_log = changes(self.repository, conversation).items
            before = self.change_log.get(root, ())
            assert change_log[: len(before)] == before
            self.change_log[root] = change_log

    @rule()
    def reopen(self):
        self.repository = open_store(self.repository.path)

    @rule(chance=st.integers(min_value=0, max_value=5))
    def collect(self, chance):
        if chance == 0:
            gc(self.repository)

    @rule(moves=st.lists(st.booleans(), min_size=1, max_size=3))
    def undo_and_redo(self, moves):
        for back in moves:
            if back:
                self.turn_back(undo, self.done, self.undone, 1, 0)
            else:
                self.turn_back(redo, self.undone, self.done, 0, 1)

    @rule(conversation=CONVERSATIONS)
    def new(self, conversation):
        root = (self.note(None),)
        after = self.model | {(conversation, "branch", "main"): root, (conversation, "active"): "main"}
        refused = Refused if self.branches(conversation) else None
        self.operate(lambda r: new(r, conversation_id=conversation), after, refused)

    @talking
    @rule(data=st.data(), words=st.lists(TEXTS, min_size=1, max_size=3))
    def append(self, data, words):
        conversation, name, _ = self.pick(data)
        self.append_words(conversation, name, words)

    @talking
    @rule(data=st.data(), name=BRANCHES, active=st.booleans())
    def branch(self, data, name, active):
        conversation, start, chain = self.pick(data)
        back = data.draw(st.integers(0, len(chain)))
        self.begin_branch(conversation, name, start, back, active=active)

    def begin_branch(self, conversation, name, start, back, *, active):
        chain = self.model[conversation, "branch", start]
        after = self.model | {(conversation, "branch", name): chain[: len(chain) - back]}
        after |= {(conversation, "active"): name} if active else {}
        refused = NotFound if back >= len(chain) else self.taken(conversation, name)
        self.operate(
            lambda r: branch(r, conversation, name=name, start=f"{start}~{back}", switch=active), after, refused
        )

    @talking
    @rule(data=st.data())
    def switch(self, data):
        conversation, name, _ = self.pick(data)
        if self.model[conversation, "active"] != name:
            self.operate(lambda r: switch(r, conversation, name), self.model | {(conversation, "active"): name})

    @talking
    @rule(data=st.data())
    def rewind(self, data):
        conversation, name, chain = self.pick(data)
        count = data.draw(st.integers(1, len(chain)))
        after = self.model | {(conversation, "branch", name): chain[: len(chain) - count]}
        refused = NotFound if count >= len(chain) else None
        self.operate(lambda r: rewind(r, f"{conversation}/{name}", count=count), after, refused)

    @talking
    @rule(data=st.data(), force=st.booleans())
    def delete_branch(self, data, force):
        conversation, name, gone = self.pick(data)
        others = [chain for other, chain in self.branches(conversation).items() if other != name]
        safe = force or any(chain[: len(gone)] == gone for chain in others)
        refused = None if safe and name not in ("main", self.model[conversation, "active"]) else Refused
        after = {key: value for key, value in self.model.items() if key != (conversation, "branch", name)}
        self.operate(lambda r: delete_branch(r, conversation, name, force=force), after, refused)

    @talking
    @rule(data=st.data(), wanted=BRANCHES)
    def rename_branch(self, data, wanted):
        conversation, old, _ = self.pick(data)
        after = dict(self.model)
        after[conversation, "branch", wanted] = after.pop((conversation, "branch", old))
        after[conversation, "active"] = (
            wanted if after[conversation, "active"] == old else after[conversation, "active"]
        )
        refused = Refused if old == "main" else self.taken(conversation, wanted, leaving=old)
        if wanted.startswith(f"{old}/") or old.startswith(f"{wanted}/"):
            self.death = None  # the reflog cannot be at both places meanwhile, so undo would not know of the appends
        self.operate(lambda r: rename_branch(r, conversation, old, wanted), after, refused)

    @talking
    @rule(data=st.data(), wanted=CONVERSATIONS)
    def rename(self, data, wanted):
        conversation, _, _ = self.pick(data)
        after = {(wanted if key[0] == conversation else key[0], *key[1:]): v for key, v in self.model.items()}
        refused = Refused if self.branches(wanted) else None
        self.operate(lambda r: rename_conversation(r, conversation, wanted), after, refused)

    @talking
    @rule(data=st.data())
    def delete(self, data):
        conversation, _, _ = self.pick(data)
        after = {key: value for key, value in self.model.items() if key[0] != conversation}
        self.operate(lambda r: delete(r, conversation), after)

    @talking
    @rule(data=st.data(), label=st.sampled_from(["v1", "v/2"]))
    def tag(self, data, label):
        conversation, name, chain = self.pick(data)
        after = self.model | {(conversation, "tag", label): chain}
        refused = Refused if (conversation, "tag", label) in self.model else None
        self.operate(lambda r: tag(r, conversation, label, name), after, refused)

    @invariant()
    def every_branch_has_the_texts_of_the_model(self):
        for key, chain in self.model.items():
            if key[1] == "branch":
                assert texts(self.repository, f"{key[0]}/{key[2]}") == [
                    self.appended[number][0] for number in chain[1:]
                ]

    @invariant()
    def list_and_show_agree_with_the_model(self):
        listed = list_conversations(self.repository)
        assert list_conversations(self.repository, self.repository.path + "-index") == listed
        rows = {row.id: row for row in listed.conversations}
        assert rows.keys() == {key[0] for key in self.model}
        for conversation, row in rows.items():
            chains = self.branches(conversation)
            seen = show(self.repository, conversation)
            assert {b.name: b.total for b in seen.branches} == {name: len(chain) - 1 for name, chain in chains.items()}
            assert seen.active_branch == row.active_branch == self.model[conversation, "active"]
            assert seen.messages == row.messages == len({n for chain in chains.values() for n in chain[1:]})
            assert row.branches == len(chains)
            tips = list_branch_tips(self.repository, conversation)
            assert len(set(tips.values())) == len(set(chains.values()))

    @invariant()
    def tags_are_where_the_model_has_them(self):
        for conversation in {key[0] for key in self.model}:
            tags = dict(list_tags(self.repository, conversation).tags)
            chains = {key[2]: chain for key, chain in self.model.items() if key[:2] == (conversation, "tag")}
            assert tags.keys() == chains.keys()
            for name, (*_, last) in chains.items():
                assert self.appended[last][1] == (None if tags[name].kind == "root" else tags[name].id)


COMMON = settings(deadline=None, suppress_health_check=list(HealthCheck))
TestStore = StoreMachine.TestCase
TestStore.settings = settings(COMMON, max_examples=examples(25), stateful_step_count=30)


@pytest.mark.sweep
class TestStoreForLong(StoreMachine.TestCase):
    """The same test, run for minutes."""

    settings = settings(COMMON, max_examples=600, stateful_step_count=60)
