"""What is signed where the user's git signs: merges, resolutions and decisions of people; what is not: all else."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import MergeConflicted, Merged, continue_merge, merge
from scopes.conversation.rebase import rebase
from scopes.conversation.verify import verify_signatures
from scopes.errors import Refused
from scopes.facts.decide import accept
from scopes.facts.propose import Proposal, propose
from scopes.history.names import list_branch_tips
from scopes.ids import Oid
from scopes.model.message import Author
from scopes.store.git_program import is_signed
from scopes.store.objects import read_commit, read_data
from scopes.store.refs import FACTS
from tests.support.history import history, say
from tests.support.signing_keys import configure, sign_with_ssh, verify_commit, with_signer
from tests.support.store import assert_sound, refs

CAROL, HELPER = Author("carol", "human"), Author("helper", "agent")


@pytest.fixture
def home(tmp_path, monkeypatch, repository):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    sign_with_ssh(path)
    with_signer(repository, path)
    return path


def tip(repository, branch="main"):
    return list_branch_tips(repository, "conv-001")[branch]


def signed(repository, oid):
    return is_signed(read_data(repository, Oid(oid), "commit"))


def decide(repository, where, choice):
    return say(repository, where, choice, kind="decision", decision={"topic": "auth", "decision": choice})


def test_a_merge_is_signed_and_git_agrees(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, Merged)
    assert verify_commit(repository.path, home, done.tip)[0] == 0
    assert read_commit(repository, done.tip).kind == "merge"
    assert_sound(repository)


def test_a_merge_where_git_does_not_sign_has_no_signature(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    configure(home, commit_gpgsign="false")
    with_signer(repository, home)
    assert not signed(repository, merge(repository, "conv-001", "fix", target="main").tip)


def test_a_dry_run_signs_nothing(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    configure(home, user_signingkey=f"{home}/none.pub")
    assert merge(repository, "conv-001", "fix", target="main", dry_run=True).tip is None


def test_appended_messages_are_not_signed(repository, home):
    drawn = history(repository, "main: a b")
    say(repository, "conv-001", "one more", author={"name": "carol", "kind": "human"})
    assert not signed(repository, drawn.oids["a"])
    assert not signed(repository, tip(repository))


@pytest.mark.parametrize(("kind", "is_signed"), [("human", True), ("agent", False)])
def test_an_appended_decision_is_signed_if_it_is_that_of_a_person(repository, home, kind, is_signed):
    history(repository, "main: a")
    document = {"topic": "auth", "decision": "tokens"}
    say(repository, "conv-001", "", author={"name": "carol", "kind": kind}, kind="decision", decision=document)
    assert signed(repository, tip(repository)) is is_signed
    found = verify_signatures(repository, str(home), required=True)
    assert (found.exit_code, found.unsigned) == (0, ())


def test_an_unsigned_decision_of_a_person_lacks_a_signature_that_is_required(repository, home):
    history(repository, "main: a")
    configure(home, commit_gpgsign="false")
    with_signer(repository, home)
    document = {"topic": "auth", "decision": "tokens"}
    say(repository, "conv-001", "", author={"name": "carol", "kind": "human"}, kind="decision", decision=document)
    found = verify_signatures(repository, str(home), required=True)
    assert [each.what for each in found.unsigned] == ["decision"]
    assert found.exit_code == 1


def test_nothing_is_written_if_a_decision_cannot_be_signed(repository, home):
    history(repository, "main: a")
    configure(home, user_signingkey=f"{home}/none.pub")
    with_signer(repository, home)
    before = repository.list_refs()
    document = {"topic": "auth", "decision": "tokens"}
    with pytest.raises(Refused, match="nothing was written"):
        say(repository, "conv-001", "", author={"name": "carol", "kind": "human"}, kind="decision", decision=document)
    assert repository.list_refs() == before


def test_the_resolution_of_a_person_and_the_merge_that_follows_are_signed(repository, home):
    history(repository, "main: a b", "fix@b: c")
    decide(repository, "conv-001/main", "cookies")
    decide(repository, "conv-001/fix", "tokens")
    stopped = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(stopped, MergeConflicted)
    assert signed(repository, stopped.tip)
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    assert signed(repository, tip(repository, stopped.branch))
    assert signed(repository, continue_merge(repository, "conv-001").tip)
    assert not list_conflicts(repository, "conv-001").conflicts


def test_an_amendment_of_a_person_is_signed_and_one_of_an_agent_is_not(repository, home):
    drawn = history(repository, "main: a b")
    amend(repository, "conv-001", drawn.ids["a"], "better", author=CAROL)
    assert signed(repository, tip(repository))
    amend(repository, "conv-001", drawn.ids["b"], "better", author=HELPER)
    assert not signed(repository, tip(repository))
    retract(repository, "conv-001", drawn.ids["b"], "wrong", author=CAROL)
    assert signed(repository, tip(repository))


def test_a_rewritten_commit_has_no_signature(repository, home):
    drawn = history(repository, "main: a b c", "fix@b: d")
    amend(repository, "conv-001", drawn.ids["d"], "better", author=CAROL, branch="fix")
    assert signed(repository, tip(repository, "fix"))
    rebase(repository, "conv-001", onto="main", branch="fix")
    assert not signed(repository, tip(repository, "fix"))


def test_nothing_moves_if_a_merge_cannot_be_signed(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    configure(home, user_signingkey=f"{home}/none.pub")
    with_signer(repository, home)
    before = repository.list_refs()
    with pytest.raises(Refused, match="nothing was written"):
        merge(repository, "conv-001", "fix", target="main")
    assert repository.list_refs() == before


def test_nothing_moves_if_an_amendment_cannot_be_signed(repository, home):
    drawn = history(repository, "main: a b")
    configure(home, user_signingkey=f"{home}/none.pub")
    with_signer(repository, home)
    before = refs(repository)
    with pytest.raises(Refused, match="nothing was written"):
        amend(repository, "conv-001", drawn.ids["a"], "better", author=CAROL)
    assert refs(repository) == before


def test_an_accepted_fact_is_signed_by_the_person_who_accepts_it(repository, home):
    history(repository, "main: a b")
    propose(repository, "conv-001", Proposal(key="Seeds", content="it is 20 ms", agent="helper", id="slow"))
    assert repository.find_ref(FACTS) is None or not signed(repository, repository.find_ref(FACTS))
    accept(repository, "conv-001", "slow", actor="carol")
    assert verify_commit(repository.path, home, repository.find_ref(FACTS))[0] == 0
