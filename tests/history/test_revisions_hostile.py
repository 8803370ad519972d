"""Names from outside are data: they never reach libgit2 as a name or a revision, and every one of them has an answer."""

from __future__ import annotations

import time

import pytest

from scopes.conversation.append import amend, append
from scopes.conversation.branch import abandon, branch, delete_tag, list_branches, list_tags, rewind, switch, tag
from scopes.conversation.changes import changes
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import (
    delete,
    delete_branch,
    new,
    rename_branch,
    rename_conversation,
    rename_title,
)
from scopes.conversation.show import cat, show
from scopes.conversation.undo import show_operation, undo
from scopes.errors import Invalid, NotFound, ScopesError
from scopes.history.messages import plain_message
from scopes.history.names import resolve_branch_name, resolve_conversation, resolve_revision
from scopes.model.message import Author
from tests.support.history import history
from tests.support.store import files_of

HOSTILE = {
    "revision search": ":/(((",
    "search in a commit": "conv-001/main^{/(((",
    "index path": ":0:message.json",
    "path in a tree": "conv-001/main:message.json",
    "NUL": "a\0b",
    "NUL after a name": "conv-001\0",
    "surrogate": "\udcff",
    "surrogate in a branch": "conv-001/\udcff",
    "way out": "../../x",
    "way out of a conversation": "conv-001/../../../scopes/operations",
    "option": "-x",
    "long option": "--upload-pack=touch x",
    "git's head": "HEAD",
    "earlier checkout": "@{-1}",
    "upstream": "@{u}",
    "slashes": "////",
    "newline": "main\nmain",
    "escape": "\x1b]52;c;aGk=\x07",
    "bidirectional": "\u202emain",
    "10 kB": "x" * 10_000,
    "10 kB in a conversation": "conv-001/" + "é" * 10_000,
    "10 kB of short parts": "a/" * 5_000 + "a",
    "10 kB of braces": "@{" * 5_000,
}
PLACES = (cat, lambda r, text: list(log(r, text).items), resolve_revision)
INSIDE = (
    lambda r, text: resolve_branch_name(r, "conv-001", text),
    lambda r, text: resolve_revision(r, text, "conv-001"),
    lambda r, text: cat(r, text, conversation="conv-001"),
    lambda r, text: switch(r, "conv-001", text),
    lambda r, text: abandon(r, "conv-001", text),
    lambda r, text: delete_branch(r, "conv-001", text, force=True),
    lambda r, text: rename_branch(r, "conv-001", text, "new"),
    lambda r, text: rewind(r, "conv-001", to=text),
    lambda r, text: rewind(r, "conv-001", branch=text),
    lambda r, text: branch(r, "conv-001", name="new", start=text),
    lambda r, text: tag(r, "conv-001", "new", text),
    lambda r, text: delete_tag(r, "conv-001", text),
    lambda r, text: amend(r, "conv-001", text, "new", author=Author("carol")),
    lambda r, text: append(r, "conv-001", plain_message("carol", "x"), branch=text),
)
CONVERSATIONS = (
    resolve_conversation, show, delete, changes, list_branches, list_tags,
    lambda r, text: rename_title(r, text, "new"),
    lambda r, text: append(r, text, plain_message("carol", "x")),
)  # fmt: skip
NEW_NAMES = (
    lambda r, text: new(r, conversation_id=text),
    lambda r, text: rename_conversation(r, "conv-001", text),
    lambda r, text: rename_branch(r, "conv-001", "fix", text),
    lambda r, text: branch(r, "conv-001", name=text),
    lambda r, text: tag(r, "conv-001", text),
)


class Eavesdropper:
    """Wrap a pygit2 object and record every text passed to it."""

    def __init__(self, target, passed):
        self._target, self._passed = target, passed

    def __getattr__(self, name):
        value = getattr(self._target, name)
        if not callable(value):
            return Eavesdropper(value, self._passed) if type(value).__module__.startswith("pygit2") else value

        def call(*arguments, **options):
            self._passed.update(a for a in (*arguments, *options.values()) if isinstance(a, str))
            return value(*arguments, **options)

        return call


@pytest.fixture
def passed(repository):
    """Draw a history, then record the texts passed to libgit2."""
    history(repository, "main: a b", "fix: c")
    texts = set()
    repository.git = Eavesdropper(repository.git, texts)
    return texts


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_refused_and_libgit2_never_sees_it(repository, passed, text):
    """A-4, A-5, A-6, A-7, A-8: a refusal with exit 2, 4 or 5, no traceback, nothing changed."""
    before = files_of(f"{repository.path}/refs")
    for look_up in (*PLACES, *INSIDE, *CONVERSATIONS, show_operation, undo):
        with pytest.raises(ScopesError) as refusal:
            look_up(repository, text)
        assert refusal.value.exit_code in {2, 4, 5}
        assert refusal.value.message.isprintable()
        assert refusal.value.hint
    assert not [asked for asked in passed if text in asked]
    assert files_of(f"{repository.path}/refs") == before


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_cannot_be_given_to_a_branch_or_tag(repository, passed, text):
    """A-4, A-5, A-6, A-7."""
    for make in NEW_NAMES:
        with pytest.raises(Invalid, match=r"is not a valid (branch name|tag name|conversation id)") as refusal:
            make(repository, text)
        assert refusal.value.hint.startswith("for example")
    assert not [asked for asked in passed if text in asked]


@pytest.mark.parametrize("text", ["CON", "a.lock", "a..b", "a b", ".a", "a/", "/a", "a//b", "@", "x" * 201])
def test_a_name_refused_by_git_or_by_a_file_system_is_refused(repository, passed, text):
    """A-4, A-5, A-6."""
    for make in NEW_NAMES:
        with pytest.raises(Invalid):
            make(repository, text)


def test_a_full_ref_name_is_not_a_revision(repository, passed):
    for text in ("refs/heads/conv-001/main", "heads/conv-001/main"):
        with pytest.raises(NotFound):
            resolve_revision(repository, text)


@pytest.mark.parametrize("text", ["conv-001~" + "9" * 5_000, "conv-001^" + "1" * 4_301 + "~2", "conv-001~1000000000"])
def test_an_impossible_number_of_steps_is_refused(repository, passed, text):
    """Python refuses to read a number of 5,000 digits."""
    with pytest.raises(NotFound, match="not that many messages"):
        resolve_revision(repository, text)


@pytest.mark.parametrize("text", ["~" * 20_000 + "x", "conv-001" + "~1" * 20_000 + "x", "~" * 20_000, "@{" * 20_000])
def test_a_long_name_is_refused_at_once(repository, passed, text):
    """Splitting the steps off a name once took seconds for 10 kB."""
    start = time.process_time()
    with pytest.raises(ScopesError):
        resolve_revision(repository, text)
    assert time.process_time() - start < 1
