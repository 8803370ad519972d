"""The list of what was purged is signed where git signs; without the signature nothing is purged."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import merge
from scopes.conversation.verify import verify_signatures
from scopes.errors import Refused
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import PURGED
from tests.support.history import history
from tests.support.signing_keys import configure, sign_with_ssh, verify_commit, with_signer
from tests.support.store import refs


@pytest.fixture
def home(tmp_path, monkeypatch, repository):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    sign_with_ssh(path)
    with_signer(repository, path)
    return path


def test_the_list_of_what_was_purged_is_signed_and_git_agrees(repository, home, places):
    drawn = history(repository, "main: a b c")
    purge(repository, PurgeRequest(conversation="conv-001", messages=(drawn.ids["b"],)), places)
    assert verify_commit(repository.path, home, repository.find_ref(PURGED))[0] == 0


def test_a_merge_that_a_purge_writes_again_has_no_signature(repository, home, places):
    drawn = history(repository, "main: a b c", "fix@b: d e")
    merge(repository, "conv-001", "fix", target="main")
    purge(repository, PurgeRequest(conversation="conv-001", messages=(drawn.ids["b"],)), places)
    done = verify_signatures(repository, str(home))
    assert [(row.oid, row.state) for row in done.signatures] == [(repository.find_ref(PURGED), "good")]


def test_nothing_is_purged_if_the_list_cannot_be_signed(repository, home, places):
    drawn = history(repository, "main: a b c")
    configure(home, user_signingkey=f"{home}/none.pub")
    with_signer(repository, home)
    before = refs(repository)
    with pytest.raises(Refused, match="nothing was written"):
        purge(repository, PurgeRequest(conversation="conv-001", messages=(drawn.ids["b"],)), places)
    assert refs(repository) == before
