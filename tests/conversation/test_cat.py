"""`cat`: one message, and with `--original` the bytes that it was imported from."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.conversation.branch import tag
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import OriginalRecords, cat, read_original
from scopes.errors import Invalid, NotFound
from scopes.history.sources import read_spans
from scopes.model import canonical_json
from scopes.store.objects import COMMIT, Identity, format_commit, update_tree
from tests.support.history import history, say
from tests.support.store import git


@pytest.mark.parametrize(
    ("place", "word"), [("conv-001", "c"), ("conv-001/main~1", "b"), ("conv-001/fix", "d"), ("conv-001/v1", "a")]
)
def test_a_message_is_read_by_revision_or_tag(repository, place, word):
    history(repository, "main: a b c", "fix@b: d")
    tag(repository, "conv-001", "v1", "main~2")
    assert cat(repository, place).message.text == word


def test_a_message_is_read_by_id_in_the_store_or_in_one_conversation(repository):
    first, second = history(repository, "main: a"), history(repository, "main: b")
    assert cat(repository, second.ids["b"][:8]).conversation == "conv-002"
    assert cat(repository, second.ids["b"][:8], conversation="conv-002").message.text == "b"
    with pytest.raises(NotFound, match="there is no"):
        cat(repository, second.ids["b"][:8], conversation="conv-001")
    assert cat(repository, first.oids["a"][:8], conversation="conv-001").head.id == first.ids["a"]


def test_a_message_view_names_conversation_and_branch(repository):
    drawn = history(repository, "main: a b")
    seen = cat(repository, "conv/ma")
    assert (seen.conversation, seen.branch, seen.head.oid) == ("conv-001", "main", drawn.oids["b"])
    assert cat(repository, drawn.ids["a"]).branch is None


def test_the_stored_line_is_the_blob_in_git(repository):
    """S0-9: `cat --raw` and `git show` print the same JSON."""
    new(repository)
    appended = say(repository, "conv-001", "héllo\n", work_item="T-1", files=[{"path": "a.py", "op": "edit"}])
    seen = cat(repository, appended.id)
    assert seen.stored.decode() == git(repository, "show", f"{appended.oid}:message.json")
    assert json.loads(seen.stored)["work_item"] == "T-1"
    assert seen.stored.endswith(b"}\n")
    assert seen.stored.count(b"\n") == 1


def test_an_empty_conversation_has_no_message_to_read(repository):
    new(repository)
    with pytest.raises(NotFound, match="conv-001/main has no message here") as refusal:
        cat(repository, "conv-001")
    assert refusal.value.hint == 'add one: scopes append conv-001 "..."'


def test_the_root_commit_cannot_be_read_as_a_message(repository):
    drawn = history(repository, "main: a")
    for place in ("conv-001~1", drawn.root[:12]):
        with pytest.raises(NotFound, match="has no message here"):
            cat(repository, place)


def test_an_empty_or_unknown_name_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="the message is not named"):
        cat(repository, "")
    with pytest.raises(NotFound, match="there is no conversation or message 'zzzzzzz'") as refusal:
        cat(repository, "zzzzzzz")
    assert "create a conversation: scopes new" in refusal.value.hint
    with pytest.raises(NotFound, match="there is no conversation 'nope'"):
        cat(repository, "main", conversation="nope")


SOURCE = b'{"a": 1}\n{"state": 0}\n  {"a":\t2}\r\n{"b": 3}'


def keep_source(repository, key, message, spans):
    """Store a source with the byte spans of one message."""
    page = b"".join(canonical_json.dump({"message": message, "offset": o, "length": n}) for o, n in spans)
    files = {
        "chunks/000000": SOURCE[:25],
        "chunks/000001": SOURCE[25:],
        "segments/000000.jsonl": canonical_json.dump({"state": "x", "offset": 9, "length": 13}) + page,
    }
    tree = update_tree(repository, None, files)
    data = format_commit(tree=tree, parents=(), author=Identity("s", "s@s"), time=1, subject="s")
    git(repository, "update-ref", f"refs/scopes/sources/{key}", repository.write(COMMIT, data))


def test_the_original_is_the_byte_spans_of_the_first_source_with_the_message(repository):
    drawn = history(repository, "main: a b")
    keep_source(repository, "k1", drawn.ids["b"], [(0, 9)])
    keep_source(repository, "k2", drawn.ids["a"], [(22, 12), (34, 8), (0, 9)])
    keep_source(repository, "k3", drawn.ids["a"], [(0, 9)])
    found = read_original(repository, "conv-001/main~1", conversation="conv-001")
    assert found.records == (b'{"a": 1}\n', b'  {"a":\t2}\r\n', b'{"b": 3}')
    assert b"".join(found.pieces) == b'{"a": 1}\n  {"a":\t2}\r\n{"b": 3}\n'
    assert read_original(repository, drawn.ids["b"]).records == (b'{"a": 1}\n',)


def test_a_message_that_was_not_imported_has_no_original(repository):
    drawn = history(repository, "main: a")
    with pytest.raises(NotFound, match="was not imported") as refusal:
        read_original(repository, drawn.ids["a"])
    assert refusal.value.hint == f"see how it is stored: scopes cat {drawn.ids['a']} --raw"


def test_every_original_record_ends_with_a_newline():
    assert b"".join(OriginalRecords(records=(b"{}\n", b"[]")).pieces) == b"{}\n[]\n"


@given(st.binary(max_size=60), st.lists(st.integers(1, 7), max_size=10), st.data())
def test_spans_read_from_chunks_equal_slices_of_the_source(source, sizes, data):
    cuts = sorted({0, len(source), *(min(sum(sizes[:n]), len(source)) for n in range(len(sizes)))})
    chunks = [source[start:end] for start, end in pairwise(cuts)]
    ends = sorted(data.draw(st.lists(st.integers(0, len(source)), max_size=8)))
    spans = [(start, end - start) for start, end in zip(ends[::2], ends[1::2], strict=False)]
    assert list(read_spans(chunks, spans)) == [source[offset : offset + length] for offset, length in spans]
