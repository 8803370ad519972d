"""`amend` and `retract`: new messages about old ones (S4-27)."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import cat
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.model.message import Author
from tests.render.rendering import document, piped, seen_lines
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def state(repository, message, where="conv-001/main"):
    """Return what the state of a branch claims about a message."""
    return json.loads(git(repository, "show", f"{where}:state/messages/{message}="))


def test_amending_adds_a_message_and_does_not_change_the_old_one(repository):
    """S4-27."""
    drawn = history(repository, "main: a b c")
    before = git(repository, "cat-file", "-p", drawn.oids["b"])
    result = amend(repository, "conv", "main~1", "better", author=Author("dave"))
    assert (result.branch, result.target, result.retracted) == ("main", drawn.ids["b"], False)
    assert texts(repository, "conv-001") == ["a", "b", "c", "better"]
    assert git(repository, "cat-file", "-p", drawn.oids["b"]) == before
    message = cat(repository, result.id).message
    assert (message.amends, message.author.name, message.kind) == (drawn.ids["b"], "dave", "plain")
    assert state(repository, drawn.ids["b"])["amended"].startswith("sha256:")


def test_retracting_adds_a_notice(repository):
    """S4-27."""
    drawn = history(repository, "main: a b")
    result = retract(repository, "conv-001", drawn.ids["a"][:6], "wrong file", author=Author("dave", "human"))
    assert (result.target, result.retracted) == (drawn.ids["a"], True)
    message = cat(repository, "conv-001").message
    assert (message.retracts, message.kind, message.text) == (drawn.ids["a"], "notice", "wrong file")
    assert message.author.kind == "human"
    assert state(repository, drawn.ids["a"]) == {"retracted": True}
    assert cat(repository, drawn.ids["a"]).message.text == "a"


def test_a_notice_without_a_reason_quotes_the_message(repository):
    new(repository)
    say(repository, "conv-001", "x" * 100)
    retract(repository, "conv-001", "main", "", author=Author("dave"))
    assert cat(repository, "conv-001").message.text == "retracted: " + "x" * 60


def test_a_message_can_be_amended_twice(repository):
    """The last amendment applies; both messages stay."""
    drawn = history(repository, "main: a")
    amend(repository, "conv-001", "main", "second", author=Author("dave"))
    first = state(repository, drawn.ids["a"])
    result = amend(repository, "conv-001", drawn.ids["a"], "third", author=Author("erin"))
    assert result.target == drawn.ids["a"]
    assert state(repository, drawn.ids["a"]) != first
    assert texts(repository, "conv-001") == ["a", "second", "third"]


def test_equal_amendments_are_equal_claims(repository):
    """Author and time do not matter to a merge."""
    drawn = history(repository, "main: a", "fix:")
    amend(repository, "conv-001/main", drawn.ids["a"], "same", author=Author("dave"))
    amend(repository, "conv-001/fix", drawn.ids["a"], "same", author=Author("erin"))
    assert state(repository, drawn.ids["a"]) == state(repository, drawn.ids["a"], "conv-001/fix")


def test_an_amendment_can_be_amended_and_an_amended_message_retracted(repository):
    drawn = history(repository, "main: a")
    first = amend(repository, "conv-001", "main", "second", author=Author("dave"))
    assert amend(repository, "conv-001", first.id, "third", author=Author("dave")).target == first.id
    retract(repository, "conv-001", drawn.ids["a"], "", author=Author("dave"))
    assert state(repository, drawn.ids["a"]) == {"retracted": True}
    assert "amended" in state(repository, first.id)


@pytest.mark.parametrize("again", [amend, retract])
def test_a_retracted_message_can_be_neither_amended_nor_retracted(repository, again):
    drawn = history(repository, "main: a b")
    retract(repository, "conv-001", drawn.ids["a"], "no", author=Author("dave"))
    before = refs(repository)
    with pytest.raises(Refused, match=f"message {drawn.ids['a'][:8]} was retracted already") as refusal:
        again(repository, "conv-001", drawn.ids["a"], "text", author="dave")
    assert refusal.value.hint == "see: scopes log conv-001/main"
    assert refs(repository) == before


def test_a_retraction_applies_to_its_branch_only(repository):
    drawn = history(repository, "main: a", "fix: b")
    retract(repository, "conv-001/main", drawn.ids["a"], "no", author=Author("dave"))
    assert amend(repository, "conv-001/fix", drawn.ids["a"], "better", author=Author("dave")).branch == "fix"
    retract(repository, "conv-001", drawn.ids["a"], "no", author=Author("dave"), branch="fix")
    assert state(repository, drawn.ids["a"], "conv-001/fix") == {"retracted": True}


def test_an_amendment_keeps_the_kind_but_not_the_typed_document(repository):
    """A typed document is amended by stating it again."""
    new(repository)
    for kind, fields, kept in (
        ("summary", {}, "summary"),
        ("decision", {"decision": {"topic": "t", "decision": "d"}}, "plain"),
    ):
        say(repository, "conv-001", "x", kind=kind, **fields)
        result = amend(repository, "conv-001", "main", "better", author=Author("dave"))
        message = cat(repository, result.id).message
        assert (message.kind, message.payload) == (kept, None)


def test_amending_a_message_of_another_branch_is_refused(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    for change in (amend, retract):
        with pytest.raises(NotFound, match="that message is not on conv-001/main") as refusal:
            change(repository, "conv-001", drawn.ids["c"], "x", author="dave")
        assert refusal.value.hint == "name its branch: CONV/BRANCH MESSAGE"
    assert amend(repository, "conv-001", drawn.ids["c"], "x", author=Author("dave"), branch="fix").branch == "fix"


def test_the_root_commit_is_not_a_message(repository):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="the root of a conversation is not a message") as refusal:
        retract(repository, "conv-001", "main~1", "x", author=Author("dave"))
    assert refusal.value.hint == "see: scopes log conv-001/main"


@pytest.mark.parametrize(
    ("target", "branch", "author", "refused"),
    [("", None, "dave", Invalid), ("zzzzz", None, "dave", NotFound), ("main~7", None, "dave", NotFound), ("fix", None, "dave", Ambiguous),
     ("main", "nope", "dave", NotFound), ("main", "", "dave", Invalid), ("main", None, " ", Invalid)],
)  # fmt: skip
def test_an_invalid_target_branch_or_author_is_refused(repository, target, branch, author, refused):
    history(repository, "main: a", "fix-1:", "fix-2:")
    before = refs(repository)
    for change in (amend, retract):
        with pytest.raises(refused) as refusal:
            change(repository, "conv-001", target, "x", author=author, branch=branch)
        assert refusal.value.hint
    assert refs(repository) == before


def test_cat_and_log_mark_messages_that_were_retracted_or_amended(repository):
    drawn = history(repository, "main: a b c", "fix@a: d")
    carol = Author("carol")
    retract(repository, "conv-001", drawn.ids["a"], "wrong", author=carol, branch="main")
    amend(repository, "conv-001", drawn.ids["b"], "better", author=carol)
    seen = cat(repository, drawn.ids["a"])
    assert (seen.retracted, seen.amended) == (True, False)
    assert (cat(repository, drawn.ids["b"]).retracted, cat(repository, drawn.ids["b"]).amended) == (False, True)
    assert not cat(repository, drawn.ids["c"]).retracted
    assert not cat(repository, "conv-001/fix~1").retracted
    assert cat(repository, "conv-001/main@{0}~4").retracted
    entries = {entry.head.subject: (entry.retracted, entry.amended) for entry in log(repository, "conv-001").items}
    assert (entries["a"], entries["b"], entries["c"]) == ((True, False), (False, True), (False, False))
    assert not any(entry.retracted for entry in log(repository, "conv-001/fix").items)


def test_the_marks_of_changed_messages_are_shown(repository):
    drawn = history(repository, "main: a b")
    retract(repository, "conv-001", drawn.ids["a"], "wrong", author=Author("carol"))
    view = cat(repository, drawn.ids["a"])
    assert "Kind: plain · retracted" in piped(view).splitlines()
    assert (document(view)["retracted"], document(cat(repository, drawn.ids["b"])).get("retracted")) == (True, None)
    entry = next(entry for entry in log(repository, "conv-001").items if entry.head.id == drawn.ids["a"])
    assert "retracted" in " ".join(seen_lines(entry)).split()
    assert document(entry)["retracted"] is True
