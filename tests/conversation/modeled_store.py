"""Base class of the stateful test: a store and a dict as its model, which must always agree."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from scopes import clock
from scopes.conversation.undo import list_operations
from scopes.conversation.verify import verify
from scopes.errors import Invalid, NotFound, Refused
from scopes.store import transactions as recovery
from scopes.store.refs import PENDING
from scopes.store.transactions import exclusive_write
from tests.support.history import say
from tests.support.kills import dying_after_commit
from tests.support.random_ids import hashed_counter
from tests.support.store import git, make_store, open_store


class Killed(BaseException):
    """Raised instead of killing the process."""


class ModeledStore(RuleBasedStateMachine):
    """Apply every step to a store and to a dict, and compare them afterwards.

    The dict's keys are `(conversation, "branch", name)` with the chain of message numbers since the root,
    `(conversation, "tag", name)` with such a chain, and `(conversation, "active")`. An operation is represented by
    its changes to the dict; undo reverts them, and is refused if a value was changed since. An append is one too, but
    it does not end redo; `started` counts both, because undo goes by when they were done, not by when they were redone.
    """

    def __init__(self):
        super().__init__()
        clock.random_bytes = hashed_counter()
        self.directory = tempfile.mkdtemp()
        self.repository = make_store(os.path.join(self.directory, "store.git"))
        self.model = {}
        self.appended = []
        self.done = []
        self.undone = []
        self.started = itertools.count()
        self.change_log = {}
        self.death = None

    def teardown(self):
        with exclusive_write(self.repository):
            assert self.repository.find_ref(PENDING) is None
        assert not [finding for finding in verify(self.repository).findings if finding.severity == "error"]
        assert git(self.repository, "fsck", "--strict", "--no-dangling") == ""
        shutil.rmtree(self.directory)

    def branches(self, conversation):
        """Return the chains of a conversation's branches by name; empty for an unknown conversation."""
        return {key[2]: chain for key, chain in self.model.items() if key[:2] == (conversation, "branch")}

    def pick(self, data):
        """Draw an existing branch: conversation, name and chain."""
        key = data.draw(st.sampled_from(sorted(key for key in self.model if key[1] == "branch")))
        return key[0], key[2], self.model[key]

    def note(self, text, identity=None):
        """Assign a number to a message, or to a root, which has no text."""
        self.appended.append((text, identity))
        return len(self.appended) - 1

    def survive(self, act):
        """Run an action; if the process is to die at its n-th ref update, it does, and a new process continues.

        It may die while it completes the operation of a dead process; then its own operation is run again.
        """
        turn, self.death = self.death, None
        before = list_operations(self.repository, limit=1)
        real = recovery.set_ref
        recovery.set_ref = dying_after_commit(Killed, turn)
        try:
            act(self.repository)
        except Killed:
            recovery.set_ref = real
            self.repository = open_store(self.repository.path)
            if list_operations(self.repository, limit=1) == before:
                act(self.repository)
        finally:
            recovery.set_ref = real

    def operate(self, act, after, refused=None):
        """Run an operation that results in the dict `after`, or is refused as predicted."""
        if refused is not None:
            with pytest.raises(refused):
                act(self.repository)
            return
        self.survive(act)
        keys = [key for key in {*self.model, *after} if self.model.get(key) != after.get(key)]
        self.done.append((next(self.started), {key: (self.model.get(key), after.get(key)) for key in keys}))
        self.undone.clear()
        self.model = after

    def turn_back(self, move, source, target, old, new):
        """Undo or redo the last item of `source`; refused if there is none, or if a message was appended since."""
        if not source:
            with pytest.raises(NotFound, match="nothing to"):
                move(self.repository)
            return
        changed = source[-1][1]
        if any(self.model.get(key) != values[old] for key, values in changed.items()):
            with pytest.raises(Refused):
                move(self.repository)
            return
        self.survive(move)
        after = self.model | {key: values[new] for key, values in changed.items()}
        self.model = {key: value for key, value in after.items() if value is not None}
        target.append(source.pop())
        self.done.sort(key=lambda item: item[0])

    def append_words(self, conversation, name, words):
        for text in words:
            message = say(self.repository, f"{conversation}/{name}", text)
            key = (conversation, "branch", name)
            before = self.model[key]
            self.model[key] = (*before, self.note(text, message.id))
            self.done.append((next(self.started), {key: (before, self.model[key])}))

    def taken(self, conversation, name, leaving=None):
        """Predict how a new name is refused: it exists, or `x` and `x/y` would both exist."""
        others = self.branches(conversation).keys() - {leaving}
        nested = any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in others)
        return Refused if name in self.branches(conversation) else Invalid if nested else None
