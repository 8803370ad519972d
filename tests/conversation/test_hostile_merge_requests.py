"""Merge requests of a store that somebody else made: any document is shown, named or refused, and nothing crashes."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.merge import (
    close_merge_request,
    list_merge_requests,
    merge,
    merge_request,
    open_merge_request,
    show_merge_request,
)
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, Corrupt, NotFound, ScopesError
from scopes.history.metadata import read_metadata, write_metadata
from scopes.history.transaction import Transaction
from scopes.model.message import Author
from scopes.render.document import make_document
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.transactions import exclusive_write
from tests.render.rendering import seen
from tests.support.history import history
from tests.support.store import assert_sound

CAROL = Author("carol", "human")
CONTROL = "\x1b]0;owned\x07\x1b[31m red\u202e\u200b\r\n\x00"
TEXT_FIELDS = (
    "title",
    "requester",
    "requester_kind",
    "message",
    "state",
    "ended",
    "ended_by",
    "reason",
    "merge",
    "opened",
)
TEXTS = CONTROL, "x" * 100_000, "", "}{", "\ud800", "2026-99-99T99:99:99Z"


@pytest.fixture
def branches(repository):
    return history(repository, "main: a b", "fix@a: x")


def document(branches, **changes):
    """Return the document of a request as another machine would write it."""
    request = {
        "v": 1, "id": "abcdefabcdef", "number": 1, "source": "fix", "target": "main", "title": "Fix", "requester": "mallory",
        "source_tip": branches.oids["x"], "opened": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    return {name: value for name, value in {**request, **changes}.items() if value is not ...}


def received(repository, content, name="abcdefabcdef"):
    """Put a document into the metadata, as a fetched store has it."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with exclusive_write(repository):
        before = read_metadata(repository, "conv-001").commit
        commit = write_metadata(repository, before, {f"merge-requests/{name}": data}, "received")
        tx = Transaction(repository, "conv-001")
        tx.move_ref(refs.meta_ref("conv-001"), before, commit)
        tx.commit("fetch", "received")


def outputs(repository, name="abcdef"):
    """Return the list and the view of a request in every form, as one text."""
    results = list_merge_requests(repository, "conv-001", state="all"), show_merge_request(repository, "conv-001", name)
    shown = [seen(result, width) for result in results for width in (40, 200)]
    return "\n".join([*shown, *(json.dumps(make_document(result)) for result in results)])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("field", TEXT_FIELDS)
@pytest.mark.cases(12)
def test_any_text_in_any_field_is_shown_without_control_characters(repository, branches, field, text):
    text = text or ("nobody" if field == "requester" else "")  # without a name a request is damaged
    received(repository, document(branches, **{field: text}))
    shown = outputs(repository)
    assert not {"\x1b", "\x07", "\x00", "\u202e", "\u200b"} & set(shown)
    assert merge(repository, "conv-001", "fix", target="main").messages == (branches.ids["x"],)


@pytest.mark.parametrize("field", ["source", "target"])
@pytest.mark.parametrize(
    "text", ["nowhere", CONTROL, "", "../main", "refs/heads/conv-001/main", "main~1", "x" * 5000, "@"]
)
def test_a_request_for_no_branch_says_which_one_does_not_exist(repository, branches, field, text):
    received(repository, document(branches, **{field: text}))
    view = show_merge_request(repository, "conv-001", "1")
    assert view.gone == (text,)
    outputs(repository)
    with pytest.raises(NotFound, match="does not exist"):
        merge_request(repository, "conv-001", "1")
    close_merge_request(repository, "conv-001", "1", author=CAROL)
    assert_sound(repository)


@pytest.mark.parametrize("tip", ["0" * 40, "f" * 40, "tree", "blob"])
def test_a_tip_that_is_no_commit_of_the_store_stops_nothing(repository, branches, tip):
    tree = read_commit(repository, branches.oids["x"]).tree
    oid = {"tree": tree, "blob": repository.write("blob", b"x")}.get(tip, tip)
    received(repository, document(branches, source_tip=oid))
    view = show_merge_request(repository, "conv-001", "1")
    assert (view.row.state, view.outcome) == ("open", "merged")
    merge_request(repository, "conv-001", "1")
    assert show_merge_request(repository, "conv-001", "1").row.state == "merged"


def test_a_huge_number_is_shown_and_the_next_one_is_greater(repository, branches):
    received(repository, document(branches, number=10**30, target="fix", source="main"))
    assert f"{10**30}" in outputs(repository)
    made = open_merge_request(repository, "conv-001", "fix", title="Fix", requester=CAROL)
    assert made.row.request.number == 10**30 + 1


def test_unknown_fields_survive_a_merge_and_a_close(repository, branches):
    received(repository, document(branches, reviewers=["dave"], v=2))
    merge_request(repository, "conv-001", "1")
    (request,) = read_metadata(repository, "conv-001").requests.values()
    assert (request.state, request.extra["reviewers"], request.extra["v"]) == ("merged", ["dave"], 2)


@pytest.mark.parametrize("state", ["draft", "MERGED", "Open", CONTROL])
def test_a_request_in_a_state_of_a_later_version_is_listed_and_not_merged(repository, branches, state):
    received(repository, document(branches, state=state))
    assert [row.state for row in list_merge_requests(repository, "conv-001", state="all").merge_requests] == [state]
    assert list_merge_requests(repository, "conv-001").merge_requests == ()
    for action in (
        lambda: merge_request(repository, "conv-001", "1"),
        lambda: close_merge_request(repository, "conv-001", "1", author=CAROL),
    ):
        with pytest.raises(ScopesError):
            action()
    merge(repository, "conv-001", "fix", target="main")
    assert read_metadata(repository, "conv-001").requests["abcdefabcdef"].state == state


def test_two_documents_with_one_number_are_named_by_their_ids(repository, branches):
    """Two machines counted on their own; the same id in two files is one request."""
    received(repository, document(branches))
    received(repository, document(branches, id="abcxyz"), name="abcxyz")
    received(repository, document(branches, title="Copy"), name="zzz")
    assert len(list_merge_requests(repository, "conv-001").merge_requests) == 2
    with pytest.raises(Ambiguous, match="matches 2 merge requests") as error:
        show_merge_request(repository, "conv-001", "1")
    assert "abcdefab, abcxyz" in error.value.hint
    merge_request(repository, "conv-001", "abcx")
    assert {row.state for row in list_merge_requests(repository, "conv-001", state="all").merge_requests} == {"merged"}


def test_equal_requests_of_two_machines_are_completed_by_one_merge(repository, branches):
    received(repository, document(branches))
    received(repository, document(branches, id="other", number=2), name="other")
    tip = merge_request(repository, "conv-001", "1").tip
    assert [each.merge for each in read_metadata(repository, "conv-001").requests.values()] == [tip, tip]


def test_an_empty_id_is_no_name_for_everything(repository, branches):
    received(repository, document(branches, id=""))
    with pytest.raises(NotFound):
        show_merge_request(repository, "conv-001", "")
    assert show_merge_request(repository, "conv-001", "1").row.request.id == ""


def test_an_id_of_digits_does_not_hide_a_number(repository, branches):
    """A number of up to three digits always counts as a number."""
    received(repository, document(branches, id="2", number=7), name="2")
    made = open_merge_request(repository, "conv-001", "main", target="fix", title="Update", requester=CAROL)
    assert made.row.request.number == 8
    with pytest.raises(NotFound):
        show_merge_request(repository, "conv-001", "2")
    assert show_merge_request(repository, "conv-001", "7").row.request.id == "2"


def test_many_requests_are_listed_in_order(repository, branches):
    """Equal times are ordered by number, the highest first."""
    with exclusive_write(repository):
        before = read_metadata(repository, "conv-001").commit
        files = {
            f"merge-requests/{number}": json.dumps(document(branches, id=f"id{number}", number=number)).encode()
            for number in range(1, 201)
        }
        commit = write_metadata(repository, before, files, "received")
        tx = Transaction(repository, "conv-001")
        tx.move_ref(refs.meta_ref("conv-001"), before, commit)
        tx.commit("fetch", "received")
    numbers = [row.request.number for row in list_merge_requests(repository, "conv-001").merge_requests]
    assert numbers == list(range(200, 0, -1))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"null", b"{", b'{"v":1}', b"[" * 5000])
def test_verify_finds_a_damaged_request(repository, branches, content):
    received(repository, content)
    with pytest.raises(Corrupt):
        list_merge_requests(repository, "conv-001")
    assert [each.where for each in verify(repository).findings] == ["conv-001: metadata"]
