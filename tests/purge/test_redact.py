"""`redact`: a copy of a conversation without its secrets; the original stays, and the map stays here."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import amend
from scopes.conversation.branch import tag
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import rename_title
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.history.handles import read_uuid
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.model.message import Author
from scopes.purge.redact import redact
from scopes.secrets.allow import allow
from scopes.secrets.scan import scan
from scopes.store.objects import find_blob, read_commit
from scopes.store.refs import REDACTED
from tests.support.decisions import decide, decided
from tests.support.history import history, say, texts
from tests.support.planted import KINDS
from tests.support.remotes import add, make_bare, push_to
from tests.support.store import git

SECRET = KINDS[1][1]


@pytest.fixture
def drawn(repository):
    """Make a conversation whose third message has a token, on two branches, and a decision with it."""
    made = history(repository, "main: a b", "fix@a: x")
    say(repository, made.conversation, f"the token is {SECRET} as you know")
    say(repository, made.conversation, "later")
    return made


def shown(repository, name):
    return "\n".join(texts(repository, name))


def test_the_copy_has_placeholders_and_the_original_its_secret(repository, drawn):
    done = redact(repository, drawn.conversation)
    assert (done.messages, done.secrets, done.branches) == (1, 1, 2)
    assert SECRET in shown(repository, drawn.conversation)
    assert "the token is [redacted:" in shown(repository, done.conversation)
    assert texts(repository, f"{done.conversation}/fix") == ["a", "x"]
    assert verify(repository).exit_code == 0


def test_nothing_of_the_copy_has_a_secret(repository, drawn, tmp_path):
    decide(repository, drawn.conversation, SECRET)
    rename_title(repository, drawn.conversation, f"about {SECRET}")
    merge(repository, drawn.conversation, "fix", target="main")
    done = redact(repository, drawn.conversation)
    found = scan(repository, [done.conversation], index_directory=str(tmp_path / "index"))
    assert found.secrets == ()
    assert read_metadata(repository, done.conversation).title.startswith("about [redacted:")
    assert decided(repository, done.conversation)[0].startswith("[redacted:")
    reached = git(repository.path, "rev-list", "--objects", *list_branch_tips(repository, done.conversation).values())
    for line in reached.splitlines():
        assert SECRET not in git(repository.path, "cat-file", "-p", line.split()[0])


def test_the_copy_can_be_pushed_and_the_original_cannot(repository, drawn, tmp_path):
    add(repository, make_bare(tmp_path / "bare.git"))
    done = redact(repository, drawn.conversation)
    pushed = push_to(repository, drawn.conversation, done.conversation)
    assert [row.status for row in pushed.conversations] == ["refused", "new"]


def test_only_messages_with_a_secret_get_new_ids(repository, drawn):
    done = redact(repository, drawn.conversation)
    ids = [
        git(repository.path, "log", "--reverse", "--format=%(trailers:key=Scopes-Message)", tip).split()[1::2]
        for tip in (list_branch_tips(repository, name)["main"] for name in (drawn.conversation, done.conversation))
    ]
    assert [old == new for old, new in zip(*ids, strict=True)] == [True, True, False, True]


def test_an_amendment_in_the_copy_is_of_the_message_in_the_copy(repository, drawn):
    message = say(repository, drawn.conversation, f"key {SECRET}")
    amend(repository, drawn.conversation, message.id, "the key is secret", author=Author("carol"))
    done = redact(repository, drawn.conversation)
    assert SECRET not in shown(repository, done.conversation)
    assert "the key is secret" in shown(repository, done.conversation)
    assert verify(repository).exit_code == 0


def test_tags_and_forks_are_those_of_the_copy(repository, drawn):
    tag(repository, drawn.conversation, "v1")
    done = redact(repository, drawn.conversation)
    metadata, tips = read_metadata(repository, done.conversation), list_branch_tips(repository, done.conversation)
    assert metadata.tags == {"v1": tips["main"]}
    assert all(entry.fork is not None and entry.id != "" for entry in metadata.branches.values())
    assert read_uuid(repository, done.conversation) != read_uuid(repository, drawn.conversation)


def test_the_map_stays_here_and_tells_what_became_what(repository, drawn, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    add(repository, bare)
    done = redact(repository, drawn.conversation)
    commit = repository.find_ref(done.map_ref)
    found = json.loads(find_blob(repository, read_commit(repository, commit).tree, "map.json"))
    old, new = (list_branch_tips(repository, name)["main"] for name in (drawn.conversation, done.conversation))
    assert found["commits"][old] == new
    assert len(found["messages"]) == 1
    push_to(repository, done.conversation)
    assert REDACTED not in git(bare, "for-each-ref")
    assert old not in git(bare, "rev-list", "--all")


def test_a_conversation_without_secrets_is_not_copied(repository):
    drawn = history(repository, "main: a b")
    with pytest.raises(Refused, match="has no secret"):
        redact(repository, drawn.conversation)
    assert conversation_ids(repository) == ["conv-001"]


def test_what_is_allowed_is_not_masked(repository, drawn, tmp_path):
    (row,) = scan(repository, index_directory=str(tmp_path / "index")).secrets
    allow(repository, row.id, index_directory=str(tmp_path / "index"))
    with pytest.raises(Refused, match="has no secret"):
        redact(repository, drawn.conversation)


def test_the_id_of_the_copy_can_be_chosen_and_undo_takes_it_back(repository, drawn):
    assert redact(repository, drawn.conversation, conversation_id="shared").conversation == "shared"
    with pytest.raises(Refused):
        redact(repository, drawn.conversation, conversation_id="shared")
    undo(repository)
    assert conversation_ids(repository) == ["conv-001"]
    assert repository.list_refs(REDACTED) == {}
