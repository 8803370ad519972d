"""An amendment says again what was purged, under another id: it is treated as the purged message, however it comes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from scopes.conversation.append import amend, append, retract
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick
from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.messages import plain_message, retraction_of
from scopes.history.names import conversation_ids
from scopes.history.sources import read_purged
from scopes.model.message import Author
from scopes.purge.accept import OfferChoice, accept_purges, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import Places, purge
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.selection import PurgeRequest
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, connection, fetch_from, machine, push_to

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"
DAVE = Author("dave", "human")


@pytest.fixture
@recalled
def drawn(repository, bare):
    """A conversation that a remote has."""
    add(repository, bare)
    made = history(repository, "main: a secret b")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def purged(repository, drawn, places):
    """The same after one of its messages was purged, there too."""
    purge_message(repository, drawn.ids["secret"], places)
    push_to(repository)
    return drawn


@pytest.fixture
@recalled
def theirs(purged, bare, tmp_path):
    """A store with the purged copy of the message that does not obey the purge: it keeps what it has, and sends it."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    decline_purges(store)
    return store


def purge_message(store, message, places, conversation=NAME):
    return purge(store, PurgeRequest(conversation=conversation, messages=(message,)), places)


def purge_there(store, message):
    """Purge a message in another store, with its amendments, as it has caches of its own."""
    return purge_message(store, message, Places(f"{store.path}-index"))


def amend_as_before(store, target, text=f"not {WORD}", conversation=NAME):
    """Append an amendment as an older version does, or somebody who wrote it before the purge and picks it."""
    return append(store, conversation, replace(plain_message(DAVE, text), amends=target)).id


def carry(store, name, tmp_path):
    return create_bundle(store, str(tmp_path / name), EVERYTHING, connection(), force=True)


def refusal_of(repository):
    """Fetch, and return why conversations are not acceptable, by their names here."""
    try:
        done = fetch_from(repository)
    except Corrupt as error:
        return {None: error.message}
    found = {row.conversation: row.reason for row in done.conversations if row.status == "unacceptable"}
    assert done.exit_code == (Corrupt.exit_code if found else 0)
    return found


def by_fetch(repository, theirs, tmp_path):
    push_to(theirs)
    fetch_from(repository)


def by_pull(repository, theirs, tmp_path):
    push_to(theirs)
    pull(repository, resolve_remote(repository, None), Selection(()), connection())


def by_bundle(repository, theirs, tmp_path):
    carry(theirs, "theirs.bundle", tmp_path)
    import_bundle(repository, str(tmp_path / "theirs.bundle"), Selection(()), connection())


def by_bundle_as_a_remote(repository, theirs, tmp_path):
    carry(theirs, "theirs.bundle", tmp_path)
    add(repository, str(tmp_path / "theirs.bundle"), "file")
    fetch_from(repository, remote="file")


DOORS = (by_fetch, by_pull, by_bundle, by_bundle_as_a_remote)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.every_case("each door checks on its own way what comes through it")
def test_an_amendment_of_what_was_purged_comes_through_no_door(repository, purged, theirs, tmp_path, door):
    made = amend_as_before(theirs, purged.ids["secret"])
    with pytest.raises(Corrupt, match=f"message {made[:8]} in it was made from one that was purged here"):
        door(repository, theirs, tmp_path)
    assert find_word(WORD, repository.path) == []
    assert texts(repository, NAME) == ["a", "[purged]", "b"]


def test_what_to_do_about_it_is_the_same_as_for_the_message(repository, purged, theirs, tmp_path):
    amend_as_before(theirs, purged.ids["secret"])
    carry(theirs, "theirs.bundle", tmp_path)
    push_to(theirs)
    (reason,) = refusal_of(repository).values()
    assert "its newest message is by dave; get the rest without it: scopes pull conv-001 --purged" in reason
    (row,) = verify_bundle(repository, str(tmp_path / "theirs.bundle"), connection()).conversations
    assert (row.status, "the bundle is older, or from somebody who keeps it" in row.reason) == ("unacceptable", True)


def test_a_push_that_meets_it_takes_nothing_and_may_leave_it_out_by_force(repository, purged, theirs, bare, tmp_path):
    amend_as_before(theirs, purged.ids["secret"])
    push_to(theirs)
    say(repository, NAME, "ours")
    (row,) = push_to(repository).conversations
    assert (row.status, "was made from one that was purged here" in row.reason) == ("refused", True)
    (row,) = push_to(repository, NAME, force=True).conversations
    assert row.status == "updated"
    fetch_from(reader := machine(tmp_path / "reader.git", bare, author="erin"))
    assert find_word(WORD, repository.path, reader.path) == []


def test_amendments_of_amendments_are_followed_in_what_came(repository, purged, theirs):
    """Those between are purged copies, which would be taken."""
    first = amend_as_before(theirs, purged.ids["secret"])
    second = amend_as_before(theirs, first)
    purge_there(theirs, first)
    made = amend_as_before(theirs, second, f"third {WORD}")
    push_to(theirs)
    assert f"message {made[:8]} in it was made from one" in refusal_of(repository)[None]
    assert find_word(WORD, repository.path) == []


def test_an_amendment_of_a_purged_amendment_that_is_here_is_followed(repository, purged, theirs):
    """The first amendment comes as its purged copy, which is taken, and is not on the list of this store."""
    first = amend_as_before(theirs, purged.ids["secret"])
    purge_there(theirs, first)
    push_to(theirs)
    assert refusal_of(repository) == {}
    assert not read_purged(repository).has_message(first)
    amend_as_before(theirs, first, f"once more {WORD}")
    push_to(theirs)
    assert refusal_of(repository)
    assert find_word(WORD, repository.path) == []


@pytest.mark.parametrize("where", ["new", "known"])
@pytest.mark.every_case("what is amended is in what came, or in the store")
@pytest.mark.slow
def test_an_amendment_is_followed_into_another_conversation(repository, purged, theirs, where):
    """It was picked without what it amends, which is in a conversation that is here, or comes beside it."""
    first = amend_as_before(theirs, purged.ids["secret"], f"first {WORD}")
    second = amend_as_before(theirs, first, f"second {WORD}")
    other = new(theirs).id
    cherry_pick(theirs, other, [second])
    if where == "known":
        purge_there(theirs, first)
        other = new(theirs).id
        amend_as_before(theirs, first, f"third {WORD}", other)
    push_to(theirs)
    reasons = [*refusal_of(repository).values()]
    assert any("was made from one that was purged here" in each for each in reasons)
    assert find_word(WORD, repository.path) == []
    assert not any(WORD in text for name in conversation_ids(repository) for text in texts(repository, name))


def test_a_branch_with_it_is_refused_with_its_conversation(repository, purged, theirs):
    branch(theirs, NAME, name="side", start=purged.ids["a"])
    append(theirs, NAME, replace(plain_message(DAVE, f"not {WORD}"), amends=purged.ids["secret"]), branch="side")
    push_to(theirs)
    assert refusal_of(repository)
    assert find_word(WORD, repository.path) == []


def test_other_conversations_of_the_same_fetch_are_taken(repository, purged, theirs):
    amend_as_before(theirs, purged.ids["secret"])
    history(theirs, "main: x y")
    push_to(theirs)
    assert [*refusal_of(repository)] == [NAME]
    assert texts(repository, "conv-002") == ["x", "y"]


def test_a_notice_that_retracts_a_message_in_its_words_is_refused_and_others_are_taken(repository, purged, theirs):
    append(theirs, NAME, retraction_of(purged.ids["secret"], DAVE, "it has a key"))
    push_to(theirs)
    assert refusal_of(repository) == {}
    append(theirs, NAME, retraction_of(purged.ids["secret"], DAVE, f"retracted: {WORD}"))
    push_to(theirs)
    assert refusal_of(repository)
    assert find_word(WORD, repository.path) == []


def test_who_has_the_purged_message_may_retract_it_but_not_amend_it(repository, purged, theirs):
    with pytest.raises(Refused, match="was purged, and nobody who purged it takes an amendment"):
        amend(theirs, NAME, purged.ids["secret"], f"not {WORD}", author=DAVE)
    retract(theirs, NAME, purged.ids["secret"], "", author=DAVE)
    push_to(theirs)
    assert refusal_of(repository) == {}
    assert texts(repository, NAME)[-1] == "retracted: [purged]"


def test_amendments_of_other_messages_are_taken(repository, purged, theirs):
    first = amend(theirs, NAME, purged.ids["b"], "better", author=DAVE).id
    amend(theirs, NAME, first, "best", author=DAVE)
    made = history(theirs, "main: x")
    amend(theirs, made.conversation, made.ids["x"], "y", author=DAVE)
    push_to(theirs)
    assert refusal_of(repository) == {}
    assert {"better", "best"} <= {*texts(repository, NAME)}


def test_somebody_who_claims_the_id_of_another_message_makes_nobody_refuse_that_one(repository, purged, theirs):
    """A message is judged by what it says itself, and what it amends by its own conversation first."""
    made = history(theirs, "main: x")
    amend(theirs, made.conversation, made.ids["x"], "y", author=DAVE)
    forged = replace(plain_message(DAVE, f"not {WORD}"), id=made.ids["x"], amends=purged.ids["secret"])
    append(theirs, NAME, forged)
    push_to(theirs)
    assert [*refusal_of(repository)] == [NAME]
    assert texts(repository, "conv-002") == ["x", "y"]


def test_amendments_that_lead_in_a_circle_are_no_endless_search(repository, purged, theirs):
    one, two = plain_message(DAVE, "one"), plain_message(DAVE, "two")
    append(theirs, NAME, replace(one, amends=two.id))
    append(theirs, NAME, replace(two, amends=one.id))
    push_to(theirs)
    assert refusal_of(repository) == {}


def test_a_message_of_which_parts_were_purged_may_be_amended(repository, drawn, theirs_with_file, places):
    store, call = theirs_with_file
    amend(store, NAME, call, "without the file", author=DAVE)
    push_to(store)
    assert refusal_of(repository) == {}
    assert texts(repository, NAME)[-1] == "without the file"


@pytest.fixture
@recalled
def theirs_with_file(repository, drawn, bare, places, tmp_path):
    """Another store with a message of which parts were purged, and its id."""
    parts = [{"type": "text", "text": "see"}, {"type": "file", "path": ".env", "text": WORD}]
    made = say(repository, NAME, "", author={"name": "carol", "kind": "human"}, parts=parts)
    purge(repository, PurgeRequest(file=".env"), places)
    push_to(repository)
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    return store, made.id


@pytest.mark.slow
def test_who_accepted_only_the_message_before_accepts_its_amendment_and_all_is_taken(
    repository, purged, theirs, places, tmp_path
):
    """An older version accepted the message, and left the amendment."""
    others = places._replace(index_directory=str(tmp_path / "index-theirs"))
    accept_purges(theirs, others, OfferChoice("origin"))
    made = amend_as_before(theirs, purged.ids["secret"])
    push_to(theirs)
    assert refusal_of(repository)
    assert [each.message for each in plan_accept(theirs, OfferChoice(conversation=NAME)).messages] == [made]
    accept_purges(theirs, others, OfferChoice(conversation=NAME))
    assert push_to(theirs).exit_code == 0
    assert refusal_of(repository) == {}
    assert texts(repository, NAME) == ["a", "[purged]", "b", "[purged]"]
    assert find_word(WORD, repository.path, theirs.path) == []


def test_who_has_purged_it_removes_an_amendment_that_came_before_this_was_known(repository, purged, places):
    """It came when a fetch did not follow amendments."""
    made = amend_as_before(repository, purged.ids["secret"])
    assert [each.message for each in plan_accept(repository).messages] == [made]
    accept_purges(repository, places)
    assert find_word(WORD, repository.path) == []
    with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
        plan_accept(repository)


@pytest.fixture
@recalled
def third(purged, theirs, bare, tmp_path):
    """A third store, which has not purged anything, with an amendment of what was purged elsewhere."""
    amend_as_before(theirs, purged.ids["secret"], f"first {WORD}")
    push_to(theirs)
    return machine(tmp_path / "third.git", bare, author="erin")


def test_an_amendment_is_offered_with_the_message_that_was_purged_elsewhere(third, places, tmp_path):
    assert "1 message was purged elsewhere, and not here" in fetch_from(third).notes[0].text
    assert [tuple(each)[:3] for row in list_purge_offers(third, str(tmp_path)).offers for each in row.here] == [
        (NAME, 1, "undecided")
    ]
    say(third, NAME, "news", author="erin")
    bundled = carry(third, "third.bundle", tmp_path)
    assert [row.status for row in bundled.conversations] == ["refused"]
    assert accept_purges(third, places).messages == 1
    assert find_word(WORD, third.path) == []


def test_who_declines_a_message_keeps_its_later_amendments_too(third, theirs, purged, tmp_path):
    fetch_from(third)
    decline_purges(third)
    amend_as_before(theirs, purged.ids["secret"], f"second {WORD}")
    push_to(theirs)
    assert fetch_from(third).notes == ()
    assert {each.decision for row in list_purge_offers(third, str(tmp_path)).offers for each in row.here} == {
        "declined"
    }
    say(third, NAME, "news", author="erin")
    assert [row.status for row in push_to(third).conversations] == ["updated"]


def test_a_pull_joins_no_branch_with_an_undecided_amendment(third, theirs, purged):
    fetch_from(third)
    say(third, NAME, "by erin", author="erin")
    say(theirs, NAME, "by dave", author="dave")
    push_to(theirs)
    again = amend_as_before(third, purged.ids["secret"], f"again {WORD}")
    pulled = pull(third, resolve_remote(third, None), Selection(()), connection())
    assert [each.state for each in pulled.branches] == ["refused"]
    assert again in {each.message for each in plan_accept(third).messages}


@pytest.mark.slow
def test_the_store_that_never_fetched_the_purge_and_forces_it_is_refused_until_it_accepts(
    repository, drawn, bare, places, tmp_path
):
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    amend(store, NAME, drawn.ids["secret"], f"not {WORD}", author=DAVE)
    purge_message(repository, drawn.ids["secret"], places)
    push_to(repository)
    fetch_from(store)
    decline_purges(store)
    push_to(store, NAME, force=True)
    assert refusal_of(repository)
    assert find_word(WORD, repository.path) == []
    accept_purges(store, places._replace(index_directory=str(tmp_path / "other")), OfferChoice(conversation=NAME))
    push_to(store)
    assert refusal_of(repository) == {}
    assert find_word(WORD, repository.path, store.path) == []


@pytest.mark.slow
def test_purging_an_amendment_leaves_the_message_and_takes_what_amends_the_amendment(
    repository, drawn, bare, places, tmp_path
):
    first = amend(repository, NAME, drawn.ids["secret"], f"first {WORD}", author=DAVE).id
    push_to(repository)
    fetch_from(store := machine(tmp_path / "theirs.git", bare, author="dave"))
    purge_message(repository, first, places)
    push_to(repository)
    fresh = machine(tmp_path / "fresh.git", bare, author="erin")
    fetch_from(fresh)
    decline_purges(fresh)
    amend_as_before(fresh, first, f"second {WORD}")
    push_to(fresh)
    assert refusal_of(repository)
    assert find_word(WORD, repository.path) == []
    assert texts(repository, NAME)[:3] == ["a", "secret", "b"]
    with suppress(Corrupt):
        fetch_from(store)
    assert {each.message for each in plan_accept(store).messages} >= {first}


def test_a_purge_takes_amendments_wherever_they_were_picked_and_the_notice_that_quotes(repository, drawn, places):
    first = amend(repository, NAME, drawn.ids["secret"], f"first {WORD}", author=DAVE).id
    second = amend(repository, NAME, first, f"second {WORD}", author=DAVE).id
    for number in range(4):  # so that some are walked before what they amend
        cherry_pick(repository, new(repository, conversation_id=f"copy-{number}").id, [second])
    quoted = say(repository, NAME, f"the key is {WORD}").id
    retract(repository, NAME, quoted, "", author=DAVE)
    assert purge_message(repository, drawn.ids["secret"], places).messages == 3
    assert purge_message(repository, quoted, places).messages == 2
    assert find_word(WORD, repository.path) == []
    assert texts(repository, NAME)[-1] == "[purged]"
