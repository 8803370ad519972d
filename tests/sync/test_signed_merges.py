"""Signed commits are pushed, checked by whoever receives them, and verified there with the receiver's own keys."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import merge
from scopes.conversation.verify import verify_signatures
from scopes.history.names import list_branch_tips
from scopes.store.git_program import add_signature
from scopes.store.objects import COMMIT, read_data
from tests.support.history import say
from tests.support.planted import KINDS
from tests.support.remotes import clone_to, push_to
from tests.support.signing_keys import sign_with_ssh, with_signer
from tests.support.store import assert_sound, git, move, open_store


@pytest.fixture
def home(tmp_path, monkeypatch):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    sign_with_ssh(path)
    return path


@pytest.fixture
def merged(ours, home):
    say(ours, "conv-001/main", "one more")
    with_signer(ours, home)
    return merge(ours, "conv-001", "fix", target="main").tip


def test_a_signed_merge_arrives_with_its_signature(ours, bare, home, merged, tmp_path):
    push_to(ours)
    clone_to(tmp_path / "other", bare)
    other = open_store(tmp_path / "other")
    assert list_branch_tips(other, "conv-001")["main"] == merged
    assert [(row.oid, row.state) for row in verify_signatures(other, str(home)).signatures] == [(merged, "good")]
    assert_sound(other)


def test_who_has_no_key_of_the_sender_sees_that_it_is_unknown(ours, bare, home, merged, tmp_path):
    push_to(ours)
    clone_to(tmp_path / "other", bare)
    git(bare, "config", "--file", f"{home}/.gitconfig", "--unset", "gpg.ssh.allowedSignersFile")
    done = verify_signatures(open_store(tmp_path / "other"), str(home))
    assert [(row.state, row.signer) for row in done.signatures] == [("unknown key", None)]


def test_the_same_merge_on_two_machines_has_one_message_and_two_commits_if_one_signs(ours, bare, home, tmp_path):
    say(ours, "conv-001/main", "one more")
    push_to(ours)
    clone_to(tmp_path / "other", bare)
    other = open_store(tmp_path / "other")
    theirs = merge(other, "conv-001", "fix", target="main")
    with_signer(ours, home)
    mine = merge(ours, "conv-001", "fix", target="main")
    assert (mine.message == theirs.message, mine.tip == theirs.tip) == (True, False)


def test_a_secret_in_the_place_of_a_signature_is_not_pushed(ours, bare, home, merged):
    data = read_data(ours, merged, COMMIT)
    head, _, rest = data.partition(b"\ngpgsig ")
    plain = head + b"\n" + rest[rest.index(b"\n\n") + 1 :]
    planted = ours.write(COMMIT, add_signature(plain, KINDS[1][1].encode()))
    move(ours, ("refs/heads/conv-001/main", merged, planted))
    pushed = push_to(ours)
    assert pushed.exit_code != 0
    assert KINDS[1][1] not in str(pushed) + git(bare, "cat-file", "--batch-all-objects", "--batch")
