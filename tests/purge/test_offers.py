"""A list of purged ids that a remote offers is an offer: it is listed, accepted or declined, and blocks nobody's work."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend
from scopes.conversation.rebase import cherry_pick
from scopes.conversation.undo import undo
from scopes.errors import NotFound, Refused
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.history.sources import NOTHING, hash_of, join_all, purged_of, read_purged, write_purged
from scopes.history.transaction import RefTransaction
from scopes.model.message import Author
from scopes.purge.accept import OfferChoice, accept_purges, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.offers import fingerprint, list_offers, offer_ref, read_offered, read_undecided
from scopes.purge.purge import purge
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.selection import PurgeRequest
from scopes.purge.unfinished import begin
from scopes.store.refs import PURGE_DECLINED, PURGED_ELSEWHERE
from scopes.store.transactions import exclusive_write
from scopes.sync.origin import is_from_here
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.purge_offers import STRANGER, everything_of, offer_list
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, push_to
from tests.support.signing_keys import sign_with_ssh, signer
from tests.support.store import git

OTHER = "ba9876543210"
WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
@recalled
def drawn(repository, bare):
    """Make a conversation of this store, and push it."""
    add(repository, bare)
    made = history(repository, "main: a b c")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(drawn, bare, tmp_path):
    """Make another machine that has fetched it."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    return store


@pytest.fixture
@recalled
def offered(repository, drawn, bare):
    """Let a stranger claim to have purged message b."""
    return offer_list(repository, bare, everything_of(messages=[drawn.ids["b"]]))


def statuses(pushed):
    return {row.conversation: row.status for row in pushed.conversations}


def here(store, directory):
    """Return what of all offers is here: conversation, messages and decision."""
    return [tuple(each)[:3] for row in list_purge_offers(store, str(directory)).offers for each in row.here]


def test_a_conversation_that_began_here_is_pushed_whatever_is_offered(repository, drawn, bare):
    root = find_root_commit(repository, drawn.conversation)
    offer_list(repository, bare, everything_of([root], drawn.ids.values()))
    fetch_from(repository)
    say(repository, drawn.conversation, "my own news")
    pushed = push_to(repository)
    assert (statuses(pushed), pushed.exit_code) == ({drawn.conversation: "updated"}, 0)
    assert "it began here" in pushed.notes[-1].text
    assert "purge --accept" in pushed.notes[-1].hint
    assert "purge --decline" in pushed.notes[-1].hint
    assert push_to(repository).notes == ()


def test_only_the_conversation_that_is_named_is_held_back(drawn, theirs, bare):
    say(theirs, "conv-001/main", "named")
    made = history(theirs, "main: x y")
    offer_list(theirs, bare, everything_of([drawn.root]))
    fetch_from(theirs)
    pushed = push_to(theirs)
    assert statuses(pushed) == {"conv-001": "refused", made.conversation: "new"}
    assert "1 conversation (conv-001) has what was purged elsewhere, and was held back" in pushed.notes[-1].text


def test_what_is_named_is_held_back_also_where_the_remote_has_it_still(drawn, theirs, offered):
    fetch_from(theirs)
    say(theirs, "conv-001/main", "news")
    pushed = push_to(theirs)
    assert (statuses(pushed), pushed.exit_code) == ({"conv-001": "refused"}, 1)
    assert "purge --accept" in pushed.conversations[0].reason
    assert "1 conversation (conv-001) has what was purged elsewhere, and was held back" in pushed.notes[-1].text
    decline_purges(theirs)
    assert statuses(push_to(theirs)) == {"conv-001": "updated"}


def test_what_has_nothing_of_it_is_sent_while_something_is_offered(theirs, offered):
    made = history(theirs, "main: x y")
    fetch_from(theirs)
    say(theirs, f"{made.conversation}/main", "news")
    assert statuses(push_to(theirs)) == {made.conversation: "new"}


def test_an_offer_that_was_declined_holds_nothing_back(drawn, theirs, bare):
    say(theirs, "conv-001/main", "news")
    offer_list(theirs, bare, everything_of([drawn.root]))
    fetch_from(theirs)
    assert statuses(push_to(theirs)) == {"conv-001": "refused"}
    done = decline_purges(theirs)
    assert (done.messages, done.conversations, done.listed) == (0, 1, 1)
    assert statuses(push_to(theirs)) == {"conv-001": "updated"}
    assert fetch_from(theirs).notes == ()


def test_what_a_machine_lists_later_is_undecided_again(theirs, drawn, bare, offered):
    fetch_from(theirs)
    decline_purges(theirs)
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["b"], drawn.ids["c"]]))
    assert "1 message was purged elsewhere" in fetch_from(theirs).notes[-1].text
    assert [each.message for each in plan_accept(theirs).messages] == [drawn.ids["c"]]


def test_declining_is_taken_back_by_undo(theirs, offered):
    fetch_from(theirs)
    decline_purges(theirs)
    assert not read_undecided(theirs)
    undo(theirs)
    assert read_undecided(theirs)
    assert theirs.find_ref(PURGE_DECLINED) is None


def test_declining_twice_changes_nothing_more(theirs, offered):
    fetch_from(theirs)
    assert decline_purges(theirs).operation is not None
    with pytest.raises(NotFound, match="nothing was purged elsewhere"):
        decline_purges(theirs)
    assert decline_purges(theirs, OfferChoice(STRANGER)).operation is None


def test_an_offer_that_was_declined_can_be_accepted_by_name(theirs, drawn, offered, places):
    fetch_from(theirs)
    decline_purges(theirs)
    with pytest.raises(NotFound, match="nothing was purged elsewhere"):
        accept_purges(theirs, places)
    assert accept_purges(theirs, places, OfferChoice(STRANGER)).messages == 1
    assert texts(theirs, "conv-001/main") == ["a", "[purged]", "c"]


def test_who_accepts_removes_their_own_amendments_of_what_was_purged(theirs, drawn, places, offered):
    """Who purged the message did not have them, and they say it again."""
    fetch_from(theirs)
    of_theirs = amend(theirs, "conv-001", drawn.ids["b"], f"not {WORD}", author=Author("dave")).id
    again = amend(theirs, "conv-001", of_theirs, f"not {WORD} either", author=Author("dave")).id
    of_another = amend(theirs, "conv-001", drawn.ids["c"], "c, in other words", author=Author("dave")).id
    planned = {each.message for each in plan_accept(theirs).messages}
    assert planned == {drawn.ids["b"], of_theirs, again}
    accept_purges(theirs, places)
    assert find_word(WORD, theirs.path) == []
    assert [read_purged(theirs).has_message(each) for each in (of_theirs, again, of_another)] == [True, True, False]


def test_each_machine_is_decided_by_itself(theirs, drawn, bare, offered, places):
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["c"]]), OTHER)
    fetch_from(theirs)
    decline_purges(theirs, OfferChoice(STRANGER[:6]))
    assert accept_purges(theirs, places, OfferChoice(OTHER)).messages == 1
    assert texts(theirs, "conv-001/main") == ["a", "b", "[purged]"]
    with pytest.raises(NotFound, match="no remote and no machine"):
        decline_purges(theirs, OfferChoice("nobody"))


def test_what_is_in_one_conversation_is_decided_by_itself(theirs, drawn, bare, places):
    made = history(theirs, "main: x y")
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["b"], made.ids["x"]]))
    fetch_from(theirs)
    assert decline_purges(theirs, OfferChoice(conversation=made.conversation)).messages == 1
    accept_purges(theirs, places)
    assert texts(theirs, "conv-001/main") == ["a", "[purged]", "c"]
    assert texts(theirs, f"{made.conversation}/main") == ["x", "y"]


def test_a_whole_conversation_that_is_kept_keeps_its_messages(theirs, drawn, bare, places):
    """Whoever purges a conversation lists its messages, too."""
    made = history(theirs, "main: x")
    offer_list(theirs, bare, everything_of([drawn.root, made.root], [*drawn.ids.values(), made.ids["x"]]))
    fetch_from(theirs)
    assert decline_purges(theirs, OfferChoice(conversation="conv-001")).conversations == 1
    assert plan_accept(theirs).conversations == (made.conversation,)
    accept_purges(theirs, places)
    assert texts(theirs, "conv-001/main") == ["a", "b", "c"]


def test_a_message_of_several_conversations_is_listed_and_accepted_in_each_of_them(
    theirs, drawn, bare, places, tmp_path
):
    made = history(theirs, "main: x")
    cherry_pick(theirs, made.conversation, [drawn.ids["b"]])
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["b"]]))
    fetch_from(theirs)
    assert here(theirs, tmp_path) == [("conv-001", 1, "undecided"), (made.conversation, 1, "undecided")]
    plan = plan_accept(theirs, OfferChoice(conversation="conv-001"))
    assert [each.conversation for each in plan.messages] == ["conv-001", made.conversation]
    assert accept_purges(theirs, places, OfferChoice(conversation="conv-001")).messages == 1
    assert texts(theirs, f"{made.conversation}/main") == ["x", "[purged]"]


def test_a_whole_conversation_is_decided_by_its_name(theirs, drawn, bare, places):
    offer_list(theirs, bare, everything_of([drawn.root]))
    fetch_from(theirs)
    plan = plan_accept(theirs, OfferChoice(conversation="conv-001"))
    assert (plan.messages, plan.conversations) == ((), ("conv-001",))
    assert accept_purges(theirs, places, OfferChoice(conversation="conv-001")).conversations == 1


def test_nothing_is_decided_in_the_middle_of_a_purge(theirs, offered):
    fetch_from(theirs)
    begin(theirs, NOTHING)
    with pytest.raises(Refused, match="interrupted"):
        decline_purges(theirs)


def test_offers_are_listed_with_the_machine_the_time_and_what_is_here(theirs, drawn, bare, offered, tmp_path):
    made = history(theirs, "main: x")
    offer_list(theirs, bare, everything_of([made.root], [drawn.ids["a"], "z" * 26]), OTHER)
    fetch_from(theirs)
    decline_purges(theirs, OfferChoice(OTHER, "conv-001"))
    one, two = list_purge_offers(theirs, str(tmp_path)).offers
    assert (one.remote, one.machine, one.listed, one.signature) == ("origin", STRANGER, 1, None)
    assert (two.machine, two.listed) == (OTHER, 3)
    assert one.received is not None
    assert [tuple(each)[:3] for each in one.here] == [("conv-001", 1, "undecided")]
    assert [tuple(each)[:3] for each in two.here] == [
        (made.conversation, None, "undecided"),
        ("conv-001", 1, "declined"),
    ]


def test_the_list_of_this_machine_is_no_offer(repository, drawn, tmp_path, places):
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    push_to(repository, purged=True)
    fetch_from(repository)
    assert list_offers(repository) != []
    assert list_purge_offers(repository, str(tmp_path)).offers == ()


def test_a_list_says_what_to_do_only_while_something_is_undecided(theirs, offered, tmp_path):
    fetch_from(theirs)
    assert "--accept" in list_purge_offers(theirs, str(tmp_path)).notes[0].hint
    decline_purges(theirs)
    assert list_purge_offers(theirs, str(tmp_path)).notes == ()
    assert here(theirs, tmp_path) == [("conv-001", 1, "declined")]


def test_what_was_accepted_is_no_offer_any_more(theirs, offered, tmp_path, places):
    fetch_from(theirs)
    accept_purges(theirs, places)
    assert list_purge_offers(theirs, str(tmp_path)).offers == ()
    assert not read_offered(theirs)


def test_a_signed_list_shows_who_signed_it(theirs, drawn, bare, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    sign_with_ssh(home)
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["b"]]), sign=signer(home).sign)
    fetch_from(theirs)
    (row,) = list_purge_offers(theirs, str(home)).offers
    assert row.signature is not None
    assert (row.signature.state, row.signature.signer) == ("good", "carol@example.com")


def test_a_list_that_lost_entries_takes_nothing_back(theirs, drawn, bare, offered, tmp_path):
    fetch_from(theirs)
    offer_list(theirs, bare, everything_of(messages=["q" * 26]))
    fetch_from(theirs)
    assert here(theirs, tmp_path) == [("conv-001", 1, "undecided")]
    assert [offer.ref for offer in list_offers(theirs)] == [offer_ref("origin", STRANGER), PURGED_ELSEWHERE]
    decline_purges(theirs, OfferChoice("earlier"))
    assert here(theirs, tmp_path) == [("conv-001", 1, "declined")]


def test_offers_of_an_older_version_are_still_offered(theirs, drawn):
    with exclusive_write(theirs):
        tx = RefTransaction(theirs)
        tx.move_ref(PURGED_ELSEWHERE, None, write_purged(theirs, everything_of(messages=[drawn.ids["b"]])))
        tx.commit("fetch", "fetch as before")
    assert "1 message was purged elsewhere" in fetch_from(theirs).notes[-1].text
    assert [each.message for each in plan_accept(theirs).messages] == [drawn.ids["b"]]


def test_undo_of_a_fetch_takes_its_offers_back_and_the_next_one_brings_them_again(theirs, offered):
    assert "purged elsewhere" in fetch_from(theirs).notes[-1].text
    undo(theirs)
    assert list_offers(theirs) == []
    assert "purged elsewhere" in fetch_from(theirs).notes[-1].text
    assert len(list_offers(theirs)) == 1


def test_a_push_after_the_undo_of_a_fetch_brings_nothing_back(repository, drawn, theirs, places, bare):
    purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids["b"],)), places)
    push_to(repository)
    say(theirs, "conv-001/main", "news")
    fetch_from(theirs)
    undo(theirs)
    assert statuses(push_to(theirs, force=True)) == {"conv-001": "refused"}
    tips = git(bare, "log", "--format=%s", *git(bare, "for-each-ref", "--format=%(objectname)").split()).split()
    assert tips.count("b") == 0


def test_a_list_that_has_not_changed_is_not_read_again(theirs, offered, monkeypatch):
    fetch_from(theirs)

    def fail(*_words):
        raise AssertionError("it was read")

    monkeypatch.setattr("scopes.sync.purged_lists.check_list", fail)
    monkeypatch.setattr("scopes.purge.offers.read_purged", fail)
    assert "1 message was purged elsewhere" in fetch_from(theirs).notes[-1].text


def test_a_new_message_is_compared_with_lists_that_have_not_changed(theirs, drawn, bare):
    offer_list(theirs, bare, everything_of(messages=[drawn.ids["b"]]))
    made = history(theirs, "main: x")
    assert fetch_from(theirs).notes[-1].text.startswith("1 message ")
    decline_purges(theirs, OfferChoice(conversation="conv-001"))
    assert fetch_from(theirs).notes == ()
    assert made.conversation in list_conversations(theirs)


def list_conversations(store):
    return {ref.split("/")[2] for ref in store.list_refs("refs/heads/")}


def test_a_bad_list_does_not_hide_a_good_one(theirs, drawn, bare, offered):
    git(bare, "update-ref", "refs/scopes/v1/purged/bad/name", offered)
    fetched = fetch_from(theirs)
    assert "is not a conversation" in fetched.notes[-1].text
    assert "1 message was purged elsewhere" in fetched.notes[0].text
    assert [offer.machine for offer in list_offers(theirs)] == [STRANGER]


def test_a_conversation_began_here_if_it_was_written_here(repository, drawn, theirs):
    assert is_from_here(repository, drawn.conversation)
    assert not is_from_here(theirs, "conv-001")
    say(theirs, "conv-001/main", "news")
    push_to(theirs)
    fetch_from(repository)
    assert is_from_here(repository, drawn.conversation)
    assert not is_from_here(theirs, "conv-001")
    assert not is_from_here(theirs, "conv-404")


def test_lists_are_joined_whatever_their_order(drawn):
    one, two = purged_of({"a": frozenset({1})}, ["x"]), purged_of({"a": frozenset({2}), "b": None}, ["y"])
    assert join_all([]) == NOTHING
    assert join_all([one, two]) == join_all([two, one]) == join_all([one, two, one])
    assert join_all([one, two]).messages == {hash_of("a"): frozenset({1, 2}), hash_of("b"): None}


def test_a_decision_changes_the_fingerprint_of_the_lists(theirs, offered):
    before = fingerprint(theirs)
    fetch_from(theirs)
    fetched = fingerprint(theirs)
    decline_purges(theirs)
    assert len({before, fetched, fingerprint(theirs)}) == 3
    assert read_purged(theirs, PURGE_DECLINED)
    assert list_branch_tips(theirs, "conv-001")


def test_an_offer_names_the_messages_and_says_that_an_unsigned_list_names_nobody(theirs, offered, drawn, tmp_path):
    fetch_from(theirs)
    found = list_purge_offers(theirs, str(tmp_path))
    [here] = found.offers[0].here
    assert (here.title, here.named) == ("a", ((drawn.ids["b"], "b"),))
    assert f"that of {STRANGER} is not signed" in found.notes[1].text
    decline_purges(theirs, OfferChoice())
    assert list_purge_offers(theirs, str(tmp_path)).notes == ()


def test_the_hint_about_a_conversation_that_was_never_offered_does_not_say_that_it_was_declined(
    theirs, offered, places
):
    fetch_from(theirs)
    made = history(theirs, "main: x y")
    decline_purges(theirs)
    undo(theirs)
    choice = OfferChoice(conversation=made.conversation)
    for accept in (lambda: plan_accept(theirs, choice), lambda: accept_purges(theirs, places, choice)):
        with pytest.raises(NotFound) as refusal:
            accept()
        assert refusal.value.hint == "get the newest lists: scopes fetch; see them: scopes purge --offers"
